"""Dates as text: the formats of moment.js in English, and durations in words.

Owns the table of tokens. Reads no clock and no locale of the machine.

Source: npm moment 2.31.0 with its locale `en`.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

from tavern_compiler._js_number import round_half_up

INVALID = "Invalid date"
ISO_FORMAT = "YYYY-MM-DDTHH:mm:ssZ"
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOON = 12
_LONG: Mapping[str, str] = {
    "LTS": "h:mm:ss A", "LT": "h:mm A", "L": "MM/DD/YYYY", "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A", "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "l": "M/D/YYYY", "ll": "MMM D, YYYY", "lll": "MMM D, YYYY h:mm A",
    "llll": "ddd, MMM D, YYYY h:mm A",
}  # fmt: skip
_LONG_TOKENS = re.compile(r"(\[[^\[]*\])|(\\)?(LTS|LT|LL?L?L?|l{1,4})")
_TOKENS = re.compile(
    r"(\[[^\[]*\])|(\\)?([Hh]mm(ss)?|Mo|MM?M?M?|Do|DDDo|DD?D?D?|ddd?d?|do?|w[o|w]?|W[o|W]?|Qo?"
    r"|N{1,5}|YYYYYY|YYYYY|YYYY|YY|y{2,4}|yo?|gg(ggg?)?|GG(GGG?)?|e|E|a|A|hh?|HH?|kk?|mm?|ss?"
    r"|S{1,9}|x|X|zz?|ZZ?|LTS|LT|LL?L?L?|l{1,4}|[^\n\r\u2028\u2029])"
)


def milliseconds(moment: datetime) -> int:
    """Count milliseconds since 1970."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _ordinal(number: int) -> str:
    teens = number % 100 // 10 == 1
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _weekday(moment: date) -> int:
    return moment.isoweekday() % 7


def _week(moment: date) -> tuple[int, int]:
    """Year and week where a week begins on Sunday and the first one holds January 1st."""
    saturday = moment.toordinal() + 6 - _weekday(moment)
    year = moment.year
    if saturday >= _ordinal_of_new_year(year + 1):
        year += 1
    return year, (saturday - _ordinal_of_new_year(year)) // 7 + 1


def _ordinal_of_new_year(year: int) -> int:
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 + 1


def _day_of_year(moment: date) -> int:
    return moment.toordinal() - _ordinal_of_new_year(moment.year) + 1


def _quarter(moment: date) -> int:
    return (moment.month - 1) // 3 + 1


def _hour_12(moment: datetime) -> int:
    return moment.hour % _NOON or _NOON


def _offset(moment: datetime, separator: str) -> str:
    minutes = round((moment.utcoffset() or timedelta()).total_seconds() / 60)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{separator}{abs(minutes) % 60:02d}"


def _meridiem(moment: datetime) -> str:
    return "PM" if moment.hour >= _NOON else "AM"


_FIELDS: Mapping[str, Callable[[datetime], object]] = {
    "M": lambda at: at.month,
    "Mo": lambda at: _ordinal(at.month),
    "MM": lambda at: f"{at.month:02d}",
    "MMM": lambda at: MONTHS[at.month - 1][:3],
    "MMMM": lambda at: MONTHS[at.month - 1],
    "Q": _quarter,
    "Qo": lambda at: _ordinal(_quarter(at)),
    "D": lambda at: at.day,
    "Do": lambda at: _ordinal(at.day),
    "DD": lambda at: f"{at.day:02d}",
    "DDD": _day_of_year,
    "DDDo": lambda at: _ordinal(_day_of_year(at)),
    "DDDD": lambda at: f"{_day_of_year(at):03d}",
    "d": _weekday,
    "do": lambda at: _ordinal(_weekday(at)),
    "dd": lambda at: WEEKDAYS[_weekday(at)][:2],
    "ddd": lambda at: WEEKDAYS[_weekday(at)][:3],
    "dddd": lambda at: WEEKDAYS[_weekday(at)],
    "e": _weekday,
    "E": lambda at: at.isoweekday(),
    "w": lambda at: _week(at)[1],
    "wo": lambda at: _ordinal(_week(at)[1]),
    "ww": lambda at: f"{_week(at)[1]:02d}",
    "W": lambda at: at.isocalendar()[1],
    "Wo": lambda at: _ordinal(at.isocalendar()[1]),
    "WW": lambda at: f"{at.isocalendar()[1]:02d}",
    "Y": lambda at: f"{at.year:04d}",
    "YY": lambda at: f"{at.year % 100:02d}",
    "YYYY": lambda at: f"{at.year:04d}",
    "YYYYY": lambda at: f"{at.year:05d}",
    "YYYYYY": lambda at: f"+{at.year:06d}",
    "y": lambda at: at.year,
    "yo": lambda at: _ordinal(at.year),
    "yy": lambda at: f"{at.year:02d}",
    "yyy": lambda at: f"{at.year:03d}",
    "yyyy": lambda at: f"{at.year:04d}",
    "N": lambda _: "AD",
    "NN": lambda _: "AD",
    "NNN": lambda _: "AD",
    "NNNN": lambda _: "Anno Domini",
    "NNNNN": lambda _: "AD",
    "gg": lambda at: f"{_week(at)[0] % 100:02d}",
    "gggg": lambda at: f"{_week(at)[0]:04d}",
    "ggggg": lambda at: f"{_week(at)[0]:05d}",
    "GG": lambda at: f"{at.isocalendar()[0] % 100:02d}",
    "GGGG": lambda at: f"{at.isocalendar()[0]:04d}",
    "GGGGG": lambda at: f"{at.isocalendar()[0]:05d}",
    "A": _meridiem,
    "a": lambda at: _meridiem(at).lower(),
    "H": lambda at: at.hour,
    "HH": lambda at: f"{at.hour:02d}",
    "h": _hour_12,
    "hh": lambda at: f"{_hour_12(at):02d}",
    "k": lambda at: at.hour or 24,
    "kk": lambda at: f"{at.hour or 24:02d}",
    "hmm": lambda at: f"{_hour_12(at)}{at.minute:02d}",
    "hmmss": lambda at: f"{_hour_12(at)}{at.minute:02d}{at.second:02d}",
    "Hmm": lambda at: f"{at.hour}{at.minute:02d}",
    "Hmmss": lambda at: f"{at.hour}{at.minute:02d}{at.second:02d}",
    "m": lambda at: at.minute,
    "mm": lambda at: f"{at.minute:02d}",
    "s": lambda at: at.second,
    "ss": lambda at: f"{at.second:02d}",
    "z": lambda _: "",
    "zz": lambda _: "",
    "Z": lambda at: _offset(at, ":"),
    "ZZ": lambda at: _offset(at, ""),
    "x": milliseconds,
    "X": lambda at: milliseconds(at) // 1000,
}


def format_date(moment: datetime, pattern: str) -> str:
    """Write a moment by a pattern of moment.js; an empty one is ISO 8601 with the offset.

    Line breaks are left out. Raises ValueError where there is nothing else.
    """
    tokens = [found[0] for found in _TOKENS.finditer(_expanded(pattern or ISO_FORMAT))]
    if not tokens:
        message = "nothing but line breaks"
        raise ValueError(message)
    return "".join(_shown(moment, token) for token in tokens)


def _expanded(pattern: str) -> str:
    for _ in range(6):
        expanded = _LONG_TOKENS.sub(lambda found: _LONG.get(found[0], found[0]), pattern)
        if expanded == pattern:
            break
        pattern = expanded
    return pattern


def _shown(moment: datetime, token: str) -> str:
    read = _FIELDS.get(token)
    if read is not None:
        return str(read(moment))
    if set(token) == {"S"}:
        return f"{moment.microsecond // 1000:03d}000000"[: len(token)]
    if token.startswith("[") and len(token) > 1:
        return token.removeprefix("[").removesuffix("]")
    return token.replace("\\", "")


_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
_MONTHS_PER_DAY = 4800 / 146097
"""Of the Gregorian calendar: 4,800 months in 146,097 days."""


def humanize(duration_ms: int, *, with_suffix: bool = False) -> str:
    """Say a duration in words, "an hour"; with suffix "in an hour", "an hour ago"."""
    words = _words(abs(duration_ms))
    if not with_suffix:
        return words
    return f"in {words}" if duration_ms > 0 else f"{words} ago"


def _words(size_ms: int) -> str:
    days = size_ms / _DAY_MS
    steps = (
        (round_half_up(size_ms / 1000), 45, "a few seconds", ""),
        (round_half_up(size_ms / _MINUTE_MS), 45, "a minute", "minutes"),
        (round_half_up(size_ms / _HOUR_MS), 22, "an hour", "hours"),
        (round_half_up(days), 26, "a day", "days"),
        (round_half_up(days * _MONTHS_PER_DAY), 11, "a month", "months"),
    )
    for count, limit, one, many in steps:
        if not many and count < limit:
            return one
        if many and count <= 1:
            return one
        if many and count < limit:
            return f"{count} {many}"
    years = round_half_up(days * _MONTHS_PER_DAY / 12)
    return "a year" if years <= 1 else f"{years} years"
