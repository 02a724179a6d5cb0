"""What a check of an installation found. Must not know how it was found."""

from attrs import frozen

FINE = "ok"
WARNED = "warn"
FAILED = "fail"


@frozen(kw_only=True)
class Check:
    """One check."""

    name: str
    status: str
    """`ok`, `warn` (it may work), or `fail` (it does not work)."""
    fact: str
    remedy: str = ""
    """What to do about it; empty if nothing is."""
    profile: str = ""
    """Of the host: the one it is about; empty: all of them."""


def fine(name: str, fact: str) -> Check:
    """Say that something is as it should be."""
    return Check(name=name, status=FINE, fact=fact)


def warned(name: str, fact: str, remedy: str) -> Check:
    """Say that something may be in the way."""
    return Check(name=name, status=WARNED, fact=fact, remedy=remedy)


def failed(name: str, fact: str, remedy: str) -> Check:
    """Say that something is in the way."""
    return Check(name=name, status=FAILED, fact=fact, remedy=remedy)
