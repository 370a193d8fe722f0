"""What is not a whole snapshot is refused with one sentence, in bounded memory."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz import ir
from gradviz.errors import SnapshotError
from gradviz.ir import bounds
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.ir.validate import validate
from tests.gradviz import samples

Reader = Callable[[bytes], ir.Snapshot]
CNN = {
    ir_json.loads: ir_json.dumps(samples.cnn()).encode(),
    ir_columns.decode: ir_columns.encode(samples.cnn()),
    ir_columns.unpack: ir_columns.pack(samples.cnn()),
}
readers = pytest.mark.parametrize("read", CNN)


def refusal(read: Reader, data: bytes) -> str:
    """Return the sentence with which the data is refused."""
    with pytest.raises(SnapshotError) as caught:
        read(data)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert caught.value.__cause__ is None
    return sentence


@readers
def test_every_truncation_is_refused(read: Reader):
    whole = CNN[read]
    for length in {*range(0, len(whole), 97), *range(20), len(whole) - 1}:
        refusal(read, whole[:length])


@readers
@given(data=st.data())
def test_corruption_is_refused_or_harmless(read: Reader, data: st.DataObject):
    damaged = bytearray(CNN[read])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    try:
        snapshot = read(bytes(damaged))
    except SnapshotError:  # and nothing else
        return
    # A changed letter or number: what came out must still be a valid snapshot.
    validate(snapshot)


@readers
@given(st.binary(max_size=200))
def test_noise_is_refused(read: Reader, noise: bytes):
    refusal(read, noise)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1"),
        ("[]", "not a gradviz snapshot"),
        ("{}", "not a gradviz snapshot"),
        ('{"format": "netron", "schema": [1, 0]}', "not a gradviz snapshot"),
        ("[" * 100_000, "nested too deeply"),
        ('{"schema": [1, 0], "producer": NaN}', "NaN"),
        ('{"schema": [1, 0], "producer": ' + "9" * 5_000 + "}", "digits"),
        ('{"schema": [1, 0]}', "no producer"),
        ('{"schema": [1, 0], "producer": 3}', "producer is not a text"),
        ('{"schema": [1, 0], "producer": "p", "nodes": 3}', "nodes is not a list"),
        ('{"schema": [1, 0], "producer": "p", "nodes": [3]}', "nodes[0]"),
        ('{"schema": [1, 0], "producer": "p", "nodes": [{}]}', "no name"),
        ('{"schema": "1.0", "producer": "p"}', "schema version"),
        ('{"schema": [1], "producer": "p"}', "schema version"),
        ('{"schema": [1, 1e99], "producer": "p"}', "schema version"),
    ],
)
def test_json_that_is_no_snapshot_says_why(text: str, words: str):
    assert words in refusal(ir_json.loads, text.encode())


def test_newer_and_older_schemas_say_what_to_do():
    for schema, words in [([2, 0], "update gradviz"), ([0, 9], "record it again")]:
        document = {"schema": schema, "producer": "p"}
        assert words in refusal(ir_json.loads, json.dumps(document).encode())
        assert words in refusal(ir_columns.decode, columns(document))


COUNT = {"kind": "int", "dtype": "u8", "offset": 0, "length": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"length": 2**40},
        {"length": -1},
        {"length": 2},
        {"length": 1.0},
        {"offset": 2**60},
        {"offset": 4},
        {"offset": -8},
        {"offset": None},
        {"dtype": "i64"},
        {"dtype": []},
        {"kind": "float"},
        {"present": {"dtype": "u8", "offset": 0, "length": 1}},
        {"present": 3},
    ],
)
def test_a_column_that_claims_nonsense_is_refused(change: dict[str, Any]):
    refusal(ir_columns.decode, columns(statistics_header(1, COUNT | change), b"\1" * 8))


@pytest.mark.parametrize("count", [2, 10**15, -1, 1.5, None, "1", True])
def test_a_row_count_that_the_columns_do_not_have_is_refused(count: Any):
    refusal(ir_columns.decode, columns(statistics_header(count, COUNT), b"\1" * 8))


def test_a_row_count_without_columns_is_refused():
    header = {"schema": [1, 0], "producer": "p"}
    header |= {"tables": {"statistics": {"count": 10**12, "columns": {}}}}
    refusal(ir_columns.decode, columns(header))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.5, 1e300])
def test_a_float_is_no_row_number(value: float):
    column = COUNT | {"dtype": "f64"}
    refusal(
        ir_columns.decode,
        columns(statistics_header(1, column), struct.pack("<d", value)),
    )


@pytest.mark.parametrize("starts", [(1, 1), (0, 2), (0, 0), (0, 1, 1), (2, 1)])
def test_lists_must_tile_their_items(starts: tuple[int, ...]):
    body = b"\1" * 8 + b"".join(s.to_bytes(4, "little") for s in starts)
    body += b"\0" * (-len(body) % 8)
    first_bad = COUNT | {
        "kind": "ints",
        "starts": {"dtype": "u32", "offset": 8, "length": len(starts)},
    }
    header = statistics_header(1, COUNT)
    header["tables"]["statistics"]["columns"]["first_bad"] = first_bad
    refusal(ir_columns.decode, columns(header, body))


def test_a_text_that_is_not_in_the_table_is_refused():
    header = sources_header(offset=8)
    assert ir_columns.decode(columns(header, b"\0" * 16)).sources[0].file == "only"
    refusal(ir_columns.decode, columns(header, b"\1" * 16))
    refusal(ir_columns.decode, columns(header | {"strings": [3]}, b"\0" * 16))
    refusal(ir_columns.decode, columns(header | {"strings": None}, b"\0" * 16))


def test_columns_follow_each_other_without_overlap_hole_or_rest():
    for offset, length in [(0, 8), (0, 16), (16, 24)]:
        said = refusal(
            ir_columns.decode, columns(sources_header(offset), bytes(length))
        )
        assert "sources.text does not begin where the column before it ends" in said
    whole = columns(sources_header(8), bytes(16))
    assert "its columns end before it" in refusal(ir_columns.decode, whole + bytes(8))
    packed = zlib.compress(whole + bytes(8))
    assert "its columns end before it" in refusal(ir_columns.unpack, packed)


def test_a_column_of_a_newer_minor_version_is_passed_over():
    header = sources_header(offset=8) | {"schema": [1, 99]}
    later = {"kind": "float", "dtype": "f64", "offset": 16, "length": 1}
    header["tables"]["sources"]["columns"]["later"] = later
    header["tables"]["later"] = {
        "count": 1,
        "columns": {"one": later | {"offset": 24}},
    }
    assert ir_columns.decode(columns(header, bytes(32))).sources[0].file == "only"


@pytest.mark.parametrize("text", ['{"a": ' * 40 + "1" + "}" * 40, "[[]," * 9_999])
def test_depth_is_bounded_whatever_limit_the_program_has_set(text: str):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**9)
    try:
        assert "nested too deeply" in refusal(ir_json.loads, text.encode())
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    "title", ["[" * 99, '"' * 9 + "{" * 99, "\\" * 9 + '"' + "[" * 99, "\n\t\u2028"]
)
def test_brackets_in_texts_are_no_depth(title: str):
    snapshot = ir.Snapshot("p", title)
    assert ir_json.loads(ir_json.dumps(snapshot)) == snapshot


def test_json_in_other_encodings_is_read():
    snapshot = samples.cnn()
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert ir_json.loads(ir_json.dumps(snapshot).encode(encoding)) == snapshot


# Each file is small and claims to be huge. The child may use 100 MiB above its start.
HUGE = {
    "inflates": "ir_columns.unpack(bomb(2**9))",
    "inflates from a header": "ir_columns.unpack(bomb(2**9, columns(2**31, 2**31)))",
    "inflates to rows": "ir_columns.unpack(bomb(20, columns(20 * 2**20, 20 * 2**20)))",
    "inflates to few rows": "ir_columns.unpack(bomb(1, columns(2**20, 2**20)))",
    "inflates to a header": "ir_columns.unpack(bomb(2**9, header(2**29)))",
    "claims a header": "ir_columns.decode(header(2**31))",
    "claims rows": "ir_columns.decode(columns(2**31, 2**31))",
    "claims items": "ir_columns.decode(columns(2**62, 2**62))",
}
CHILD = """
import json, resource, zlib
from gradviz.ir import bounds
from gradviz.ir import columns as ir_columns
from gradviz.errors import SnapshotError

def bomb(mebibytes, start=b"GVC1" + bytes(4)):
    deflater = zlib.compressobj(1)
    parts = [deflater.compress(bytes(2**20)) for _ in range(mebibytes)]
    return deflater.compress(start) + b"".join(parts) + deflater.flush()

def header(length):
    return b"GVC1" + length.to_bytes(4, "little")

def columns(count, length):
    column = {"kind": "int", "dtype": "u8", "offset": 0, "length": length}
    rows = {"count": count, "columns": {"count": column}}
    described = {"schema": [1, 0], "producer": "p", "tables": {"statistics": rows}}
    text = json.dumps(described).encode()
    text += b" " * (-len(text) % 8)
    return header(len(text)) + text

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 100 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    CALL
except SnapshotError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, limits the memory")
@pytest.mark.parametrize("claim", HUGE)
def test_a_small_file_that_claims_to_be_huge_costs_little(claim: str):
    code = CHILD.replace("CALL", HUGE[claim])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert "snapshot" in done.stdout
    assert done.stdout.count("\n") == 1


def test_the_limit_on_memory_would_be_felt():
    hog = CHILD.replace("CALL", "bytes(2**30)")
    done = subprocess.run(
        [sys.executable, "-c", hog], capture_output=True, text=True, check=False
    )
    assert "MemoryError" in done.stderr


@pytest.mark.parametrize(
    ("bound", "read"),
    [
        ("MAX_FILE", ir_json.loads),
        ("MAX_ROWS", ir_json.loads),
        ("MAX_ROWS", ir_columns.unpack),
        ("MAX_BYTES", ir_columns.unpack),
    ],
)
def test_what_is_larger_than_any_recording_is_refused(
    bound: str, read: Reader, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bounds, bound, 10)
    assert "it was not read" in refusal(read, CNN[read])


def test_a_text_with_too_many_lists_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ir_json, "MAX_LISTS", 10)
    assert "too many places" in refusal(ir_json.loads, CNN[ir_json.loads])


def sources_header(offset: int) -> dict[str, Any]:
    """Return a header of one source, whose second column begins at the offset."""
    file = {"kind": "string", "dtype": "u32", "offset": 0, "length": 1}
    described = {"file": file, "text": file | {"offset": offset}}
    return {
        "schema": [1, 0],
        "producer": "p",
        "strings": ["only"],
        "tables": {"sources": {"count": 1, "columns": described}},
    }


def columns(header: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"GVC1" + len(text).to_bytes(4, "little") + text + body


def statistics_header(count: Any, column: dict[str, Any]) -> dict[str, Any]:
    rows = {"count": count, "columns": {"count": column}}
    return {"schema": [1, 0], "producer": "p", "tables": {"statistics": rows}}
