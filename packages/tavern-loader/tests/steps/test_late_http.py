"""The HTTP side of a link is opened by its first request, and keeps the order of messages."""

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from attrs import define, field

from tavern_loader.adapters.late_http import LateHttp
from tavern_loader.errors import HostError


@define
class Side:
    taken: list[tuple[str, Any]] = field(factory=list)
    is_closed: bool = False

    @property
    def inline(self) -> Mapping[str, Callable[[Any], None]]:
        return {
            name: lambda params, name=name: self.taken.append((name, params))  # type: ignore[misc]
            for name in ("http/request", "http/body", "http/end")
        }

    def close(self) -> None:
        self.is_closed = True


def test_what_comes_while_it_opens_is_kept_in_order() -> None:
    side, may_open = Side(), Event()
    told: list[Any] = []
    said: list[str] = []

    def open_slowly() -> Side:
        may_open.wait(5)
        return side

    late = LateHttp(open_slowly, lambda *one: told.append(one), said.append)
    late.take("http/request", {"stream": 1})
    late.take("http/body", {"stream": 1})
    assert side.taken == []
    may_open.set()
    late.close()
    late.take("http/end", {"stream": 1})
    assert side.taken == [
        ("http/request", {"stream": 1}),
        ("http/body", {"stream": 1}),
        ("http/end", {"stream": 1}),
    ]
    assert (side.is_closed, told, said) == (True, [], [])


def test_nothing_is_opened_for_a_host_without_requests() -> None:
    late = LateHttp(lambda: 1 / 0, lambda *_: None, lambda _: None)  # type: ignore[arg-type, return-value]
    late.close()


def test_requests_are_given_back_where_it_cannot_be_opened() -> None:
    told: list[Any] = []
    said: list[str] = []

    def fail() -> Side:
        raise ImportError("starlette")

    late = LateHttp(fail, lambda *one: told.append(one), said.append)
    late.take("http/request", {"stream": 1})
    late.close()
    late.take("http/body", {"stream": 1})
    late.take("http/request", {"stream": 2})
    assert told == [
        ("http/abort", {"stream": 1, "reason": "unavailable"}),
        ("http/abort", {"stream": 2, "reason": "unavailable"}),
    ]
    assert said == ["the HTTP API is not there: ImportError"]


def test_a_host_that_is_gone_needs_no_answer() -> None:
    def gone(*_: object) -> None:
        raise HostError("HOST_GONE", "gone")

    late = LateHttp(lambda: 1 / 0, gone, lambda _: None)  # type: ignore[arg-type, return-value]
    late.take("http/request", {"stream": 1})
    late.close()
