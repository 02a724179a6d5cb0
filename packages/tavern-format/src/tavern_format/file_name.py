"""A safe file name for a resource's name; the name itself is never changed.

Source: the rules of the npm package sanitize-filename, which SillyTavern 1.19.0 applies to names.
"""

import re

_FORBIDDEN = re.compile(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f]')
_RESERVED = re.compile(r"^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?$", re.IGNORECASE)
_ONLY_DOTS = re.compile(r"^\.+$")
_MAXIMUM_BYTES = 255


def safe_file_name(name: str) -> str:
    r"""Give the file name SillyTavern would make of a name; empty where nothing is left of it.

    Forbidden and control characters go, dots alone and device names become empty, trailing dots
    and blanks go, and the result is cut to 255 bytes of UTF-8 between characters.

    >>> safe_file_name('a/b:c*?"<>|d')
    'abcd'
    """
    kept = _FORBIDDEN.sub("", name)
    if _ONLY_DOTS.match(kept) or _RESERVED.match(kept):
        return ""
    kept = kept.rstrip(". ")
    while len(kept.encode("utf-8", "surrogatepass")) > _MAXIMUM_BYTES:
        over = len(kept.encode("utf-8", "surrogatepass")) - _MAXIMUM_BYTES
        kept = kept[: -max(1, over // 4)]
    return kept
