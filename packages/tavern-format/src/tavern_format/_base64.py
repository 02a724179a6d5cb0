"""Base64 as Node reads it: nothing is ever refused.

Owns the rule only; who calls decides what an irregular text means. The rule was found by running
Node on many inputs: reading stops at the first `=`, characters outside both alphabets are passed
over, `-` and `_` stand for `+` and `/`, and one symbol left over is dropped.

Source: Node 20, Buffer.from(text, "base64"), which SillyTavern 1.19.0 calls for card texts.
"""

from binascii import Error, a2b_base64, b2a_base64

from attrs import frozen

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_NOT_SYMBOLS = bytes(byte for byte in range(256) if byte not in _ALPHABET + b"-_")
_BLANKS = b" \t\n\v\f\r"


@frozen
class Base64Text:
    """What a base64 text decodes to, and how well-formed the text was."""

    data: bytes
    irregular: bool
    """Something other than blanks and padding was passed over, or a symbol was left over."""


def read_node(text: bytes | str) -> Base64Text:
    """Decode a text as Node does and tell whether anything of it was lost.

    Missing or surplus padding, blanks and the URL-safe alphabet are regular. A `str` counts by the
    low byte of each UTF-16 unit, as in Node.
    """
    if isinstance(text, str):
        text = text.encode("utf-16-le", "surrogatepass")[::2]
    try:
        return Base64Text(a2b_base64(text, strict_mode=True), irregular=False)
    except Error:
        return _read_loosely(text)


def decode_node(text: bytes | str) -> bytes:
    """Decode a text as Node does; never fails.

    >>> decode_node("QU!JD=QUJD")
    b'ABC'
    """
    return read_node(text).data


def encode(data: bytes) -> bytes:
    """Encode with padding and without line breaks."""
    return b2a_base64(data, newline=False)


def _read_loosely(text: bytes) -> Base64Text:
    head, _, tail = text.partition(b"=")
    symbols = head.translate(_URL_SAFE, _NOT_SYMBOLS)
    skipped = len(head.translate(None, _BLANKS)) - len(symbols)
    left_over = len(symbols) % 4 == 1
    whole = symbols[:-1] if left_over else symbols
    data = a2b_base64(whole + b"=" * (-len(whole) % 4))
    trailing = tail.translate(None, _BLANKS + b"=")
    return Base64Text(data, irregular=bool(skipped or left_over or trailing))
