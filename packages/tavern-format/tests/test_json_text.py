import tracemalloc
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavern_format import (
    DEFAULT_LIMITS,
    Diagnostic,
    FormatError,
    LimitExceededError,
    MalformedResourceError,
    Severity,
    _json_text,
    pointer,
)
from tavern_format._json_text import as_bytes, check_size, dump, load, with_javascript_numbers
from tavern_format.diagnostics import Remarks


def codes(data: bytes) -> list[tuple[str, str]]:
    found: list[Diagnostic] = []
    load(data, DEFAULT_LIMITS, found.append)
    return [(remark.code, remark.path) for remark in found]


@pytest.mark.parametrize(
    ("data", "code", "offset_bytes"),
    [
        (b"", "EMPTY_INPUT", 0),
        (b" \n ", "EMPTY_INPUT", 0),
        (b'{"a":1', "JSON_TRUNCATED", 6),
        (b'{"a":"x', "JSON_TRUNCATED", 5),
        ('{"é":"x\ny"}'.encode(), "JSON_SYNTAX", 8),
        (b'{"a" 1}', "JSON_SYNTAX", 5),
        (b"[1]x", "JSON_SYNTAX", 3),
        (b'{"NaN":1,"a":NaN}', "JSON_NUMBER", 13),
        (b'{"a":-Infinity}', "JSON_NUMBER", 5),
        (b'{"a":1e400}', "JSON_NUMBER", 5),
        (b'{"a":"9","b":' + b"9" * 5000 + b"}", "JSON_NUMBER", 13),
        (b"\xff\xfe{\x00}\x00", "ENCODING_NOT_UTF8", 0),
        (b"{\x00}\x00", "ENCODING_NOT_UTF8", 0),
    ],
)
def test_unusable_text_is_refused_with_code_and_place(
    data: bytes, code: str, offset_bytes: int
) -> None:
    with pytest.raises(MalformedResourceError) as refused:
        load(data, DEFAULT_LIMITS, lambda _: None)
    assert (refused.value.code, refused.value.offset_bytes) == (code, offset_bytes)


def test_odd_but_usable_text_is_read_with_a_diagnostic() -> None:
    assert codes(b"\xef\xbb\xbf[]") == [("BYTE_ORDER_MARK", "")]
    assert codes(b'["\xff"]') == [("ENCODING_REPLACED", "")]
    assert codes(b'{"a":[{"b/c":1,"b/c":2}],"d":{"e":1,"e":1}}') == [
        ("JSON_KEY_REPEATED", "/a/0/b~1c"),
        ("JSON_KEY_REPEATED", "/d/e"),
    ]


def test_only_the_first_hundred_repeated_keys_are_listed_and_the_rest_counted() -> None:
    repeated = b'{"a":' * 300 + b"1" + b',"a":2}' * 300
    found: list[Diagnostic] = []
    assert load(repeated, DEFAULT_LIMITS, found.append) == {"a": 2}
    assert [(remark.path, remark.message) for remark in found] == [
        ("/a", "a key occurs twice in one object; the last one wins"),
        ("", "299 more times a key occurs twice in one object"),
    ]
    found.clear()
    load(b"[" + b",".join([b'{"b":1,"b":2}'] * 250) + b"]", DEFAULT_LIMITS, found.append)
    assert [remark.path for remark in found] == [*(f"/{at}/b" for at in range(100)), ""]
    assert found[-1].message.startswith("150 more times")


def test_a_long_key_is_cut_in_pointers() -> None:
    assert pointer("", "k" * 256) == "/" + "k" * 256
    assert pointer("/x", "~" * 300, 1) == "/x/" + "~0" * 256 + "…/1"
    assert codes(b'{"' + b"k" * 100_000 + b'":{"a":1,"a":1}}') == [
        ("JSON_KEY_REPEATED", "/" + "k" * 256 + "…/a")
    ]


def test_too_many_remarks_are_summed_up_as_severely_as_the_worst() -> None:
    remarks = Remarks(2)
    kept = [Diagnostic("A", Severity.INFO, "/0", "m"), Diagnostic("B", Severity.WARNING, "/1", "m")]
    for remark in kept:
        remarks(remark)
    assert remarks.all() == tuple(kept)
    message = "only the first 2 remarks are listed; there are more"
    remarks(kept[0])
    assert remarks.all() == (
        *kept,
        Diagnostic("DIAGNOSTICS_DROPPED", Severity.INFO, "", message),
    )
    remarks(Diagnostic("C", Severity.ERROR, "", "m"))
    remarks(kept[1])
    assert remarks.all() == (
        *kept,
        Diagnostic("DIAGNOSTICS_DROPPED", Severity.ERROR, "", message),
    )


def test_the_last_of_repeated_keys_wins_in_the_place_of_the_first() -> None:
    document = load(b'{"a":1,"b":2,"a":3}', DEFAULT_LIMITS, lambda _: None)
    assert list(document.items()) == [("a", 3), ("b", 2)]


@pytest.mark.parametrize("levels", [513, 5_000, 100_000])
@pytest.mark.parametrize(("opener", "closer"), [("[", "]"), ('{"a":', "}")])
def test_nesting_over_the_limit_is_refused_by_name(levels: int, opener: str, closer: str) -> None:
    core = "1" if opener != "[" else ""
    with pytest.raises(LimitExceededError) as refused:
        load((opener * levels + core + closer * levels).encode(), DEFAULT_LIMITS, lambda _: None)
    fault = refused.value
    assert (fault.limit, fault.actual, fault.maximum, fault.unit) == (
        "json_depth_levels",
        levels,
        512,
        "levels",
    )


def test_nesting_at_the_limit_is_read_and_written() -> None:
    data = b"[" * 512 + b"]" * 512
    document = load(data, DEFAULT_LIMITS, lambda _: None)
    assert dump(document) == data
    assert dump(document, indent=4).replace(b" ", b"").replace(b"\n", b"") == data


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    text = '"' + "[{" * 400 + r"\"[[[\\" + '"'
    data = f'{{"a":{text},"b":{text}}}'.encode()
    assert len(load(data, attrs.evolve(DEFAULT_LIMITS, json_depth_levels=2), lambda _: None)) == 2


@pytest.mark.parametrize(
    ("limits", "data", "limit"),
    [
        ({"json_bytes": 4}, b"[1,2]", "json_bytes"),
        ({"json_nodes": 3}, b'[1,2,3,"," ]', "json_nodes"),
        ({"string_chars": 3}, b'["abcd"]', "string_chars"),
        ({"string_chars": 3}, b'{"abcd":1}', "string_chars"),
    ],
)
def test_each_limit_names_itself(limits: dict[str, int], data: bytes, limit: str) -> None:
    with pytest.raises(LimitExceededError) as refused:
        load(data, attrs.evolve(DEFAULT_LIMITS, **limits), lambda _: None)
    assert refused.value.limit == limit


def test_nodes_are_counted_no_lower_than_they_are() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, json_nodes=9)
    assert load(b'["a,b,c,d,e","f,g"]', limits, lambda _: None) == ["a,b,c,d,e", "f,g"]
    for crowded in (b"[1,2,3,4,5,6,7,8,9]", b'[{"a":{"b":[]}},{"c":[[]]},{},{},[]]'):
        with pytest.raises(LimitExceededError) as refused:
            load(crowded, limits, lambda _: None)
        assert refused.value.limit == "json_nodes"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'"' * (24 << 20), "JSON_SYNTAX"),
        (b"[" + b'"",' * 9_000_000 + b'""]', "LIMIT_EXCEEDED"),
        (b"[" * (24 << 20), "LIMIT_EXCEEDED"),
        (b"[" * 600 + b'"[",' * 3_000_000, "LIMIT_EXCEEDED"),
        (b'"["' * 4_000_000, "JSON_SYNTAX"),
        (b"\\" * (12 << 20) + b"[" * 600, "LIMIT_EXCEEDED"),
    ],
)
def test_a_dense_text_is_refused_in_the_memory_of_a_few_copies(data: bytes, code: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(FormatError) as refused:
            load(data, DEFAULT_LIMITS, lambda _: None)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refused.value.code == code
    assert peak_bytes < 3 * len(data) + (64 << 20)


@given(
    st.recursive(
        st.text('[]{}",\\a'),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"\\'), inner),
    ),
    st.integers(1, 64),
)
def test_nesting_is_found_wherever_a_window_ends(document: object, window_bytes: int) -> None:
    def levels(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 0
        inner = node.values() if isinstance(node, dict) else node
        return 1 + max(map(levels, inner), default=0)

    data = dump(document)
    depth = max(levels(document), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_json_text, "_WINDOW_BYTES", window_bytes)
        limits = attrs.evolve(DEFAULT_LIMITS, json_depth_levels=depth)
        assert load(data, limits, lambda _: None) == document
        if depth > 1:
            with pytest.raises(LimitExceededError):
                load(data, attrs.evolve(limits, json_depth_levels=depth - 1), lambda _: None)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_become_bytes_within_the_limit(kind: Callable[[bytes], Any]) -> None:
    data = b"[1,2]"
    assert as_bytes(kind(data), DEFAULT_LIMITS) == data
    assert type(as_bytes(kind(data), DEFAULT_LIMITS)) is bytes
    with pytest.raises(LimitExceededError) as refused:
        as_bytes(kind(data), attrs.evolve(DEFAULT_LIMITS, input_bytes=4))
    assert (refused.value.limit, refused.value.actual) == ("input_bytes", 5)


def test_bytes_are_measured_in_bytes_and_not_copied_without_need() -> None:
    data = b"12345678"
    assert as_bytes(data, DEFAULT_LIMITS) is data
    with pytest.raises(LimitExceededError):
        check_size(memoryview(data).cast("q"), attrs.evolve(DEFAULT_LIMITS, input_bytes=7))
    with pytest.raises(TypeError, match="bytes are needed, not str"):
        as_bytes("text", DEFAULT_LIMITS)  # type: ignore[arg-type]


def test_lone_surrogates_survive_as_escapes_and_other_text_as_it_is() -> None:
    data = '{"a":"é\\ud800😀"}'.encode()
    assert dump(load(data, DEFAULT_LIMITS, lambda _: None)) == data


def test_whole_floats_are_written_as_javascript_writes_them() -> None:
    document: dict[str, Any] = {"a": [1.0, -0.0, 1.5, 1e22, True], "b": {"c": 2.0}}
    assert dump(with_javascript_numbers(document)) == b'{"a":[1,0,1.5,1e+22,true],"b":{"c":2}}'
    assert document["a"][0] == 1.0


def test_a_limit_must_be_a_positive_number() -> None:
    with pytest.raises(ValueError, match="json_bytes"):
        attrs.evolve(DEFAULT_LIMITS, json_bytes=0)
    with pytest.raises(TypeError):
        attrs.evolve(DEFAULT_LIMITS, json_bytes="1")  # type: ignore[arg-type]
