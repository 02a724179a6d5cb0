"""Areas of small texts: `wi_decorators`, `wi_keys`, `wi_regex_parse`.

The text is the JSON string in `input_text`. Compared: the whole result; of regular expressions
what JavaScript shows as `source` and `flags` of the object SillyTavern makes, for world-book keys
(`wi_parse`) and for scripts (`script_regexFromString`), or that it makes none. `recommended` is
"same" throughout: nothing is refused here.
"""

import json
from typing import Any

from tavern_format import (
    JsRegexSource,
    parse_key_regex,
    parse_script_regex,
    split_decorators,
    split_keys,
)
from tests.conformance._cases import Case
from tests.conformance._findings import Findings
from tests.conformance._outcome import Outcome
from tests.conformance._phrases import View
from tests.conformance._recommended import check_recommended


def _text(case: Case, findings: Findings) -> str:
    check_recommended(findings, case.recommended, View(Outcome(), True))  # noqa: FBT003
    text: str = json.loads(case.fields["input_text"])
    return text


def check_decorators(case: Case, findings: Findings) -> None:
    """Compare decorators taken off a content."""
    found = split_decorators(_text(case, findings))
    ours = {"decorators": found.decorators, "content": found.content}
    findings.same("st", ours, case.oracle("st_parseDecorators"))


def check_keys(case: Case, findings: Findings) -> None:
    """Compare a typed list of keys taken apart."""
    ours = split_keys(_text(case, findings))
    findings.same("st", ours, case.fields["oracles"]["st_splitKeywordsAndRegexes"]["result"])


def check_regex(case: Case, findings: Findings) -> None:
    """Compare a text read as a regular expression, in both of SillyTavern's ways."""
    text = _text(case, findings)
    ours = {
        "wi_parse": _shown(parse_key_regex(text)),
        "script_regexFromString": _shown(parse_script_regex(text)),
    }
    findings.same("st", ours, case.oracle("st_parseRegexFromString"))


def _shown(found: JsRegexSource | None) -> Any:
    return None if found is None else [found.source, found.flags]
