"""Rows of time and dates.

Source: SillyTavern 1.19.0, public/scripts/macros/definitions/time-macros.js.
"""

import re
from datetime import UTC, datetime, timedelta

from tavern_compiler._js_date_format import (
    INVALID,
    format_date,
    humanize,
    milliseconds,
)
from tavern_compiler._js_date_parse import parse_moment, parse_timestamp
from tavern_compiler._macro_variables import MacroRefusal
from tavern_compiler.macro_context import MacroContext
from tavern_compiler.macro_table import Macro, MacroCall, Parameter, Value

_OFFSET = re.compile(r"UTC([+-][0-9]+)")
_MAX_HOURS = 16
"""Offsets below it are hours, others minutes."""
_DAY_MINUTES = 24 * 60
_DAYS = 2
"""Offsets of more days than this are brought back to the day."""
_MAX_DATE_MINUTES = 8_640_000_000_000_000 // 60_000
"""A date in JavaScript lies within so many minutes of 1970."""


def shifted(now: datetime, offset: str) -> datetime | None:
    """Give the time at an offset from UTC, in hours or minutes; None: that is no date any more."""
    digits = offset[1:].lstrip("0") or "0"
    size = int(digits) if len(digits) <= len(str(_MAX_DATE_MINUTES)) else _MAX_DATE_MINUTES * 2
    minutes = (size * 60 if size < _MAX_HOURS else size) * (-1 if offset[0] == "-" else 1)
    since_1970 = milliseconds(now) // 60_000
    if abs(since_1970 + minutes) > _MAX_DATE_MINUTES:
        return None
    # Only the time of day is shown, so whole days may be left out where years have five digits.
    days = abs(minutes) // _DAY_MINUTES > _DAYS
    minutes = minutes % _DAY_MINUTES if days else minutes
    return now.astimezone(UTC) + timedelta(minutes=minutes)


def time_at(now: datetime, offset: str) -> str:
    """Write the time at an offset from UTC."""
    at = shifted(now, offset)
    return INVALID if at is None else format_date(at, "LT")


def _formatted(pattern: str) -> Value:
    return lambda call, _: format_date(call.now(), pattern)


def _time(call: MacroCall, _: MacroContext) -> str:
    now = call.now()
    found = _OFFSET.fullmatch(call.args[0]) if call.args else None
    return time_at(now, found[1]) if found else format_date(now, "LT")


def _date_format(call: MacroCall, _: MacroContext) -> str:
    try:
        return format_date(call.now(), call.args[0])
    except ValueError as fault:
        raise MacroRefusal(str(fault)) from fault


def idle_time(now: datetime, context: MacroContext) -> str:
    """Say how long ago the user wrote, the newest message left out."""
    newest_seen = False
    for message in reversed(context.chat.messages):
        if message.is_system:
            continue
        if message.is_user and newest_seen:
            if not message.send_date:
                break
            sent = parse_timestamp(message.send_date, now.tzinfo or UTC)
            return INVALID if sent is None else humanize(milliseconds(now) - milliseconds(sent))
        newest_seen = True
    return "just now"


def time_between(now: datetime, left: str, right: str) -> str:
    """Say the way from the second time to the first."""
    zone = now.tzinfo or UTC
    first, second = parse_moment(left, zone), parse_moment(right, zone)
    if first is None or second is None:
        return INVALID
    return humanize(milliseconds(first) - milliseconds(second), with_suffix=True)


TIME: tuple[Macro, ...] = (
    Macro(name="time", value=_time, parameters=(Parameter("offset", optional=True),),
          reads_clock=True),
    Macro(name="date", value=_formatted("LL"), reads_clock=True),
    Macro(name="weekday", value=_formatted("dddd"), reads_clock=True),
    Macro(name="isotime", value=_formatted("HH:mm"), reads_clock=True),
    Macro(name="isodate", value=_formatted("YYYY-MM-DD"), reads_clock=True),
    Macro(name="datetimeformat", value=_date_format, parameters=(Parameter("format"),),
          reads_clock=True),
    Macro(name="idleDuration", value=lambda call, at: idle_time(call.now(), at),
          hidden_aliases=("idle_duration",), reads_clock=True),
    Macro(name="timeDiff",
          value=lambda call, _: time_between(call.now(), *call.args),
          parameters=(Parameter("left"), Parameter("right")), reads_clock=True),
)  # fmt: skip
