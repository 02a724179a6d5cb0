"""Texts as dates: ISO 8601 as moment.js reads it, other forms as V8's `Date` does.

Owns the reading; the zone of texts that name none is an argument. Reads no clock.

Source: npm moment 2.31.0; V8's dateparser; SillyTavern 1.19.0, public/scripts/utils.js
(timestampToMoment).
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import partial

from tavern_compiler._js_date_format import MONTHS
from tavern_compiler._text import trim

_DATE = r"(?P<year>\d{4})(?:-(?:(?P<month>\d\d)(?:-(?P<day>\d\d))?|W(?P<week>\d\d)(?:-(?P<weekday>\d))?|(?P<ordinal>\d\d\d)))?"  # noqa: E501 - one pattern
_BASIC = r"(?P<year>\d{4})(?:(?P<month>\d\d)(?P<day>\d\d)|W(?P<week>\d\d)(?P<weekday>\d)?|(?P<ordinal>\d\d\d))?"  # noqa: E501 - one pattern
_ZONE = r"(?P<zone>[+-]\d\d(?::?\d\d)?|\s*Z)?"
_EXTENDED_TIME = rf"(?:[T ](?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?{_ZONE})?"  # noqa: E501 - one pattern
_BASIC_TIME = rf"(?:[T ](?P<hour>\d\d)(?:(?P<minute>\d\d)(?:(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?{_ZONE})?"  # noqa: E501 - one pattern
_ISO = tuple(
    re.compile(rf"\s*{day}{time}", re.ASCII)
    for day, time in ((_DATE, _EXTENDED_TIME), (_BASIC, _BASIC_TIME))
)
_MERIDIEM = re.compile(
    r"(\w+)\s(\d{1,2}),\s(\d{4})\s(\d{1,2}):(\d{1,2})(am|pm)", re.IGNORECASE | re.ASCII
)
_HUMANIZED = (
    re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})@(\d{1,2})h(\d{1,2})m(\d{1,2})s(\d{1,3})ms", re.ASCII),
    re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})@(\d{1,2})h(\d{1,2})m(\d{1,2})s()", re.ASCII),
    re.compile(
        r"(\d{4})-(\d{1,2})-(\d{1,2}) @(\d{1,2})h (\d{1,2})m (\d{1,2})s (\d{1,3})ms", re.ASCII
    ),
)
_DIGITS = re.compile(r"[0-9]+")
_LAST_HOUR = 24


def parse_moment(text: str, zone: tzinfo) -> datetime | None:
    """Read a text as `moment(text)` does; None is its invalid date."""
    found = _iso(text, zone)
    return found if found is not None or _looks_iso(text) else _legacy(text, zone)


def parse_timestamp(stamp: str | float | None, zone: tzinfo) -> datetime | None:
    """Read the date of a message in any form SillyTavern has written; None: it is none."""
    if not stamp:
        return None
    if isinstance(stamp, int | float) or _DIGITS.fullmatch(stamp):
        return _after_epoch(float(stamp))
    found = _iso(stamp, zone)
    if found is not None:
        return found
    meridiem = _MERIDIEM.search(stamp)
    if meridiem:
        return _from_meridiem(meridiem, zone)
    for pattern in _HUMANIZED:
        parts = pattern.search(stamp)
        if parts:
            numbers = [int(group or 0) for group in parts.groups()]
            return _from_numbers(numbers)
    return None


def _after_epoch(stamp_ms: float) -> datetime | None:
    return _made(lambda: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(stamp_ms)))


def _from_numbers(numbers: list[int]) -> datetime | None:
    year, month, day, hour, minute, second, ms = numbers
    return _made(lambda: datetime(year, month, day, hour, minute, second, ms * 1000, tzinfo=UTC))


def _from_meridiem(found: "re.Match[str]", zone: tzinfo) -> datetime | None:
    month = _month(found[1])
    if month is None:
        return None
    hour = int(found[4]) % 12 + (12 if found[6].lower() == "pm" else 0)
    year, day, minute = int(found[3]), int(found[2]), int(found[5])
    return _made(lambda: datetime(year, month, day, hour, minute, tzinfo=zone))


def _month(word: str) -> int | None:
    known = [name for name in MONTHS if name[:3].lower() == word[:3].lower()]
    return MONTHS.index(known[0]) + 1 if known else None


def _made(make: Callable[[], datetime]) -> datetime | None:
    try:
        return make()
    except (ValueError, OverflowError):
        return None


def _looks_iso(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in _ISO)


def _iso(text: str, zone: tzinfo) -> datetime | None:
    for pattern in _ISO:
        found = pattern.fullmatch(text)
        if found:
            return _made(partial(_from_iso, found, zone))
    return None


def _from_iso(found: "re.Match[str]", zone: tzinfo) -> datetime:
    numbers = {name: int(value) for name, value in found.groupdict().items()
               if value and name not in ("zone", "fraction")}  # fmt: skip
    day = _day(numbers)
    hour, minute, second = (numbers.get(name, 0) for name in ("hour", "minute", "second"))
    late = hour == _LAST_HOUR and not minute and not second
    fraction = int((found["fraction"] or "0")[:3].ljust(3, "0")) * 1000
    at = datetime(
        day.year, day.month, day.day, 0 if late else hour, minute, second, fraction,
        tzinfo=_zone(found["zone"]) or zone,
    )  # fmt: skip
    return at + timedelta(days=1) if late else at


def _day(numbers: dict[str, int]) -> date:
    year = numbers["year"]
    if "week" in numbers:
        return date.fromisocalendar(year, numbers["week"], numbers.get("weekday", 1))
    if "ordinal" in numbers:
        day = date(year, 1, 1) + timedelta(days=numbers["ordinal"] - 1)
        if numbers["ordinal"] == 0 or day.year != year:
            message = "no such day of the year"
            raise ValueError(message)
        return day
    return date(year, numbers.get("month", 1), numbers.get("day", 1))


def _zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text.strip() == "Z":
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[3:].replace(":", "") or 0)
    return timezone(timedelta(minutes=minutes if text[0] == "+" else -minutes))


# --- what is no ISO 8601 ---------------------------------------------------------------------

_WORDS = re.compile(
    r"\([^)]*(?:\)|$)|(?P<time>[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]+)?)?)"
    r"|(?P<offset>(?:(?<=[\sA-Za-z])|(?<=:[0-9][0-9]))[+-][0-9]{1,2}:?[0-9]{0,2}(?=$|\s|\())"
    r"|(?P<number>[0-9]+)|(?P<word>[^\x00-@]+)|(?P<sign>[+)-]|(?<=[0-9]):)|(?P<other>.)",
    re.DOTALL,
)
_ZONES = {"utc": 0, "gmt": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7,
          "mdt": -6, "pst": -8, "pdt": -7}  # fmt: skip
_HALVES = ("am", "pm")
_HALF = re.compile("[ap]m", re.IGNORECASE)
"""Right behind a digit it spoils the date."""
_TWO_DIGITS = 100
_PIVOT = 50
_NOON = 12
_READ_DIGITS = 9


def _is_month(word: str) -> bool:
    return len(word) >= len("Jan") and _month(word) is not None


def _is_known(word: str) -> bool:
    return word in _HALVES or word in _ZONES or word == "t" or _is_month(word)


def _whole(digits: str) -> int:
    """Read a number as V8 does: its first nine digits."""
    return int(digits.lstrip("0")[:_READ_DIGITS] or "0")


def _offset(text: str) -> tzinfo:
    """Read hours, or hours and minutes. Raises ValueError for a day or more."""
    hours, colon, minutes = text[1:].partition(":")
    if not colon and len(hours) > len("00"):
        hours, minutes = hours[:-2], hours[-2:]
    size = _whole(hours) * 60 + _whole(minutes)
    return timezone(timedelta(minutes=size if text[0] == "+" else -size))


class _Legacy:
    """What was read so far of a date in free form."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.month: int | None = None
        self.clock: tuple[int, int, int, int] | None = None
        self.half: str | None = None
        self.zone: tzinfo | None = None

    def take(self, kind: str, text: str) -> bool:
        """Take one token; False where the whole is no date. Raises ValueError where it is none."""
        if kind == "time":
            parts = re.split(r"[:.]", text)
            values = [_whole(part) for part in parts[:3]] + [0] * (3 - len(parts[:3]))
            ms = int(parts[3][:3].ljust(3, "0")) if len(parts) > 3 else 0  # noqa: PLR2004 - the fraction is the fourth
            self.clock = (values[0], values[1], values[2], ms)
        elif kind == "offset" and self.clock is not None:
            self.zone = _offset(text)
        elif kind in ("number", "offset"):
            self.numbers.append(_whole(text.lstrip("+-").replace(":", "")))
        elif kind == "word":
            return self._word(text.lower())
        elif kind == "sign":
            return not self.numbers and self.clock is None
        return True

    def _word(self, word: str) -> bool:
        if word in _HALVES and self.clock is not None:
            self.half = word
        elif _is_month(word):
            self.month = _month(word)
        elif word in _ZONES:
            self.zone = timezone(timedelta(hours=_ZONES[word]))
        elif word != "t":
            return not self.numbers
        return True

    def made(self, zone: tzinfo) -> datetime:
        """Make the date. Raises ValueError where it is none."""
        year, month, day = self._date()
        hour, minute, second, ms = self.clock or (0, 0, 0, 0)
        if self.half is not None:
            if not 1 <= hour <= _NOON:
                raise ValueError(hour)
            hour = hour % _NOON + (_NOON if self.half == "pm" else 0)
        last = (date(year + month // 12, month % 12 + 1, 1) - date(year, month, 1)).days
        rest = timedelta(days=max(0, day - last))
        at = datetime(year, month, min(day, last), hour, minute, second, ms * 1000,
                      tzinfo=self.zone or zone)  # fmt: skip
        return at + rest

    def _date(self) -> tuple[int, int, int]:
        numbers = self.numbers
        if not numbers or len(numbers) > 3:  # noqa: PLR2004 - year, month, day
            raise ValueError(len(numbers))
        filled = [*numbers, 1, 1]
        last_day = 31
        if self.month is not None:
            first_is_day = 1 <= filled[0] <= last_day
            day, year = filled[:2] if first_is_day else (filled[1], filled[0])
            month = self.month
        elif not 1 <= filled[0] <= last_day:
            year, month, day = filled[:3]
        else:
            month, day, year = filled[:3]
        if not 1 <= day <= last_day:
            raise ValueError(day)
        if 0 <= year < _TWO_DIGITS:
            year += 2000 if year < _PIVOT else 1900
        return year, month, day


def _legacy(text: str, zone: tzinfo) -> datetime | None:
    read = _Legacy()
    text = trim(text)
    at = 0
    while at < len(text):
        found = _WORDS.match(text, at)
        if found is None or (_HALF.match(text, at) and text[at - 1 : at].isdigit()):
            return None
        garbage = found.lastgroup == "word" and not _is_known(found[0].lower())
        # A word that means nothing must not touch the first number.
        if garbage and text[found.end() : found.end() + 1].isdigit():
            return None
        try:
            if not read.take(found.lastgroup or "", found[0]):
                return None
        except ValueError:
            return None
        at = found.end()
        if found.lastgroup == "number" and text.startswith("-", at):
            at += 1
    return _made(lambda: read.made(zone))
