"""What every request needs beyond its description: to come from the API's own page.

Schemathesis loads this module by its name.
"""

from typing import Any

import schemathesis


def before_call(_: Any, case: Any, kwargs: Any) -> None:
    """Send a change without a body as JSON, too: the walls ask for it, OpenAPI cannot say it."""
    del kwargs
    if case.method == "DELETE" and "Content-Type" not in case.headers:
        case.headers["Content-Type"] = "application/json"


schemathesis.hook(before_call)
