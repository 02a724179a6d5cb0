"""What holds for all records, stores and inputs."""

import json
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tavern_trace import (
    AssembledText,
    Capture,
    CaptureIdentity,
    Changes,
    ContentStatus,
    Delivery,
    Draw,
    FailureRef,
    Foreign,
    OfficialAssembly,
    Part,
    Privacy,
    RecordStatus,
    Reference,
    SessionRef,
    Source,
    StoreLimits,
    TraceError,
    TraceRecord,
    TraceStore,
    Utf16Range,
    begin,
    changed_since,
    counts,
    detail_document,
    dump_record,
    dump_store,
    index_document,
    json_stringify,
    load_history,
    load_legacy_assemblies,
    load_legacy_audits,
    load_record,
    load_store,
    put,
    verify,
)
from tavern_trace.hashing import _exact, _quick

pytestmark = pytest.mark.fuzz
BUDGET = int(os.environ.get("TAVERN_FUZZ_EXAMPLES", "60"))
budget = settings(
    max_examples=BUDGET,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

short = st.text(max_size=6)
hashes = st.text("0123456789abcdef", min_size=4, max_size=4)
wholes = st.integers(-3, 2**53)
sizes = st.integers(0, 2**40)
scalars = (
    st.none()
    | st.booleans()
    | wholes
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | short
)
jsons = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(short, inner, max_size=3),
    max_leaves=8,
)
fields = st.dictionaries(st.sampled_from(["x1", "x2", "x3"]), scalars, max_size=2)
foreign = fields.map(lambda found: Foreign(fields=found))


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=3).map(tuple)


ranges = st.builds(Utf16Range, start_utf16=wholes, end_utf16=wholes, foreign=foreign)
references = st.builds(
    Reference, kind=short, event_seq=wholes, event_type=short, message_id=maybe(short),
    message_hash=maybe(hashes), text_hash=hashes, source_section_index=maybe(wholes),
    source_section_name=maybe(short), range=maybe(ranges), foreign=foreign,
)  # fmt: skip
sessions = st.builds(
    SessionRef, session_id=short, format_version=wholes, created_at=scalars, log_cut_seq=wholes,
    foreign=foreign,
)  # fmt: skip
failures = st.builds(
    FailureRef, event_seq=wholes, event_type=short, event_hash=hashes, session=sessions,
    foreign=foreign,
)  # fmt: skip
sources = st.builds(
    Source, kind=short, resource_id=maybe(short), resource_revision=maybe(hashes), field=short,
    relationship=short, chars=sizes, utf16=sizes, utf8_bytes=sizes, identifier=maybe(short),
    role=maybe(short), entry_id=maybe(short), qualified_entry_id=maybe(short), text_hash=hashes,
    foreign=foreign,
)  # fmt: skip
parts = st.builds(
    Part, name=short, index=sizes, chars=sizes, utf16=sizes, utf8_bytes=sizes, text_hash=hashes,
    provenance=short, sources=several(sources), offset_utf16=maybe(sizes),
    reference=maybe(references), foreign=foreign,
)  # fmt: skip
deliveries = st.builds(
    Delivery, stage=short, log_cut_seq=maybe(wholes), session_version=maybe(wholes),
    system_hashes=several(hashes), assembly_verified=st.booleans(),
    system_message_index=maybe(sizes), provider=maybe(short), model=maybe(short),
    tool_names=several(short), history_verified=st.booleans(), foreign=foreign,
)  # fmt: skip
changes = st.builds(
    Changes, previous_id=short, common_prefix_utf16=sizes, added=several(short),
    removed=several(short), changed=several(short), foreign=foreign,
)  # fmt: skip
draws = st.builds(
    Draw, purpose=short, value=st.floats(0, 1, exclude_max=True), foreign=foreign
)  # fmt: skip
stored = [
    status
    for status in ContentStatus
    if status.value not in ("available", "partially-available", "reference-unavailable")
]
records = st.builds(
    TraceRecord, id=st.text(min_size=1, max_size=6), session_id=st.sampled_from(["a", "b:1"]),
    turn=wholes, step=wholes, attempt=wholes, recorded_at_ms=wholes,
    status=st.sampled_from(RecordStatus), content_status=st.sampled_from(stored),
    audit=maybe(fields), selection=fields, sections=several(parts), contexts=several(parts),
    assembly_hash=maybe(hashes), parameters=maybe(fields), delivery=maybe(deliveries),
    session_ref=maybe(sessions),
    system_message_refs=maybe(several(maybe(references))), failure_ref=maybe(failures),
    legacy_capture_id=maybe(short), compiler_fingerprint=maybe(hashes), changes=maybe(changes),
    draws=several(draws), privacy=maybe(st.sampled_from(Privacy)), foreign=foreign,
)  # fmt: skip


@budget
@given(records)
def test_record_that_was_written_is_read_as_the_same(record: TraceRecord) -> None:
    data = dump_record(record)
    assert load_record(data) == record
    assert dump_record(load_record(data)) == data


# --- hashing ---------------------------------------------------------------------------------


@budget
@given(
    st.recursive(
        scalars | st.integers() | st.floats() | st.text(alphabet="0.e+-:,]}1\ud83e\udd8a"),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
            short | st.integers(0, 2**33).map(str) | st.sampled_from(["true", "-1", "1.5"]),
            inner, max_size=4,
        ),
        max_leaves=20,
    )
)  # fmt: skip
def test_quick_writing_is_exact(value: Any) -> None:
    text = _quick(value)
    assert text in (None, _exact(value))


# --- retention -------------------------------------------------------------------------------


@budget
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6000)), max_size=30),
    st.integers(4096, 20_000),
    st.integers(4096, 20_000),
)
def test_store_never_exceeds_its_limits(
    puts: list[tuple[int, int]], record_bytes: int, total_bytes: int
) -> None:
    limits = StoreLimits(record_bytes=record_bytes, total_bytes=total_bytes)
    store = TraceStore(limits=limits)
    for number, size in puts:
        identity = CaptureIdentity(
            record_id=str(number), session_id="s", turn=1, step=1, attempt=1, at_ms=1
        )
        sections = (AssembledText(name="n" * size, text="t"),)
        assembly = OfficialAssembly(sections=sections)
        store = put(store, begin(Capture(identity=identity, assembly=assembly)))
        data = dump_store(store)
        assert len(data) == store.size_bytes <= total_bytes
        assert all(len(row.data) <= limits.one_row_bytes for row in store.rows)
        assert store.rows[-1].id == str(number)
        assert load_store(data, limits) == store
    newest = list(dict.fromkeys(str(number) for number, _ in reversed(puts)))
    kept = [row.id for row in reversed(store.rows)]
    assert kept == newest[: len(kept)]


@budget
@given(st.lists(records, max_size=5))
def test_any_records_can_be_stored_listed_and_read_again(found: list[TraceRecord]) -> None:
    store = TraceStore()
    for record in found:
        store = put(store, record)
    assert load_store(dump_store(store)) == store
    for session_id in ("a", "b:1"):
        listed = index_document(store, session_id)["records"]
        times = [row["recordedAt"] for row in listed]
        assert times == sorted(times)
        json_stringify(listed)
    for one, other in pairwise(found):
        assert changed_since(one, other).common_prefix_utf16 >= 0


# --- any input -------------------------------------------------------------------------------


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(node, dict | list):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(item, (*path, key))


def changed(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Give a document with one place changed."""
    if not place:
        return value
    copy: Any = dict(document) if isinstance(document, dict) else list(document)
    copy[place[0]] = changed(document[place[0]], place[1:], value)
    return copy


@budget
@given(st.data())
def test_no_history_and_no_record_makes_verification_fail(given: Any, data: st.DataObject) -> None:
    record_json = given.sample("record_3_with_failure_ref")
    session = given.case("session_demo")
    odd = jsons | st.sampled_from([3, 4, 7, "system/message", "user/message", "env"])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(list(places(record_json))))
        record_json = changed(record_json, place, data.draw(odd))
        place = data.draw(st.sampled_from(list(places(session))))
        session = changed(session, place, data.draw(odd))
    try:
        record = load_record(json.dumps(record_json).encode())
        history = load_history(json.dumps(session).encode())
    except TraceError:
        return
    found = verify(record, history)
    for part, one in zip(record.sections, found.sections, strict=True):
        assert (one.text is None) is (one.fault is not None)
        assert one.text is None or counts(one.text).utf16 >= 0
        assert part.name == part.name
    json_stringify(detail_document(record, found))


READERS: tuple[Callable[[bytes], Any], ...] = (
    load_record,
    load_store,
    load_history,
    load_legacy_audits,
    load_legacy_assemblies,
)


@budget
@given(st.binary(max_size=40) | jsons.map(lambda found: json.dumps(found).encode()))
@pytest.mark.parametrize("read", READERS)
def test_any_bytes_are_read_or_refused(read: Callable[[bytes], Any], data: bytes) -> None:
    try:
        read(data)
    except TraceError as fault:
        assert fault.code.isupper()  # noqa: PT017 - both ways are right


@budget
@given(st.data())
def test_changed_store_is_read_or_refused_and_written_again(
    given: Any, data: st.DataObject
) -> None:
    document = given.sample("tavern-trace-records")
    place = data.draw(st.sampled_from(list(places(document))))
    raw = json.dumps(changed(document, place, data.draw(jsons))).encode()
    try:
        store = load_store(raw)
    except TraceError:
        return
    assert load_store(dump_store(store)).rows == store.rows
