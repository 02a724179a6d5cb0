"""The command /rp: what its words mean, and what the user is answered.

Must not know how a switch is made.
"""

from collections.abc import Mapping

from tavern_loader.domain.rp_mode import RpOutcome

COMMAND_NAME = "rp"
COMMAND_DESCRIPTION = "Switch role-play mode on, or off with: /rp off"
USAGE = "Use /rp to switch role-play mode on and /rp off to switch it off."
LOCKED_FROM_ABOVE = "A conversation this one came from is still in role-play mode."

_WORDS: Mapping[str, bool] = {"": True, "on": True, "off": False}
_ON_NOW = "Role-play mode is on: changes, programs and fetching are refused. /rp off ends it."
_ANSWERS: Mapping[tuple[bool, RpOutcome], str] = {
    (True, RpOutcome.COMMITTED): _ON_NOW,
    (True, RpOutcome.QUEUED): "Role-play mode is on from the next step. /rp off ends it.",
    (True, RpOutcome.CANCELLED): "Role-play mode stays on.",
    (True, RpOutcome.NOOP): "Role-play mode is already on, or begins with the next step.",
    (False, RpOutcome.COMMITTED): "Role-play mode is off.",
    (False, RpOutcome.QUEUED): "Role-play mode ends with the next step.",
    (False, RpOutcome.CANCELLED): "Role-play mode stays off.",
    (False, RpOutcome.NOOP): "Role-play mode is already off, or ends with the next step.",
}


def wanted_by(arguments: str) -> bool | None:
    """Read the words behind the command; None if they mean nothing.

    >>> wanted_by(" ON "), wanted_by("off"), wanted_by("later")
    (True, False, None)
    """
    return _WORDS.get(arguments.strip().casefold())


def answer_to(*, wanted: bool, outcome: RpOutcome) -> str:
    """Say what became of a wish."""
    return _ANSWERS[wanted, outcome]


def not_stored(reason: str) -> str:
    """Say that a wish could not be stored; `reason` is the store's own word."""
    return f"Role-play mode stays as it is, since the change cannot be stored. {reason}"


def not_in_sandbox(*, wanted: bool) -> str:
    """Say that a wish is carried out, but for the sandbox of the host."""
    if wanted:
        return "Role-play mode is on; the read-only sandbox follows with the next step."
    return "Role-play mode is off, but DSH has kept the read-only sandbox: choose another there."
