"""Keeping the host from reading our texts as templates of its own.

The host puts variables into every section and context: `{{name}}`, and it throws at any other
`{{…}}`. So every `{{` of ours becomes a variable whose value is `{{`; what a variable brings in is
not looked at again. Must not know what a text is.

Source: the host contract, section 6, pitfall 1.
"""

from collections.abc import Mapping

OPENING = "{{"
VARIABLE = "tavern_lb"
VARIABLES: Mapping[str, str] = {VARIABLE: OPENING}
"""What the assembly needs beside protected texts."""
_REFERENCE = f"{{{{{VARIABLE}}}}}"


def protect(text: str) -> str:
    """Give the text that the host turns into this one.

    >>> protect("{{user}} {x}")
    '{{tavern_lb}}user}} {x}'
    """
    return text.replace(OPENING, _REFERENCE)
