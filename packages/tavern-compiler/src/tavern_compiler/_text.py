"""Text as JavaScript sees it: white space, and sizes in its units."""

from hashlib import sha256

JS_WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What `trim` takes off in JavaScript; Python's `strip` takes other characters."""


def trim(text: str) -> str:
    """Strip white space as JavaScript does."""
    return text.strip(JS_WHITE_SPACE)


def utf16_length(text: str) -> int:
    """Count the UTF-16 code units: what JavaScript calls the length."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def to_utf8(text: str) -> bytes:
    """Encode as Node does: half a surrogate pair becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        units = text.encode("utf-16-le", "surrogatepass")
        return units.decode("utf-16-le", "replace").encode()


def utf8_length(text: str) -> int:
    """Count the bytes in UTF-8."""
    return len(text) if text.isascii() else len(to_utf8(text))


def text_hash(text: str) -> str:
    """SHA-256 of the text in UTF-8, as lower-case hex."""
    return sha256(to_utf8(text)).hexdigest()
