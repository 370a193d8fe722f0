"""What is not a whole snapshot is refused with one sentence, in bounded memory."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz import ir
from gradviz.errors import SnapshotError
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.ir import reader as _ir_reader
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
    file = {"kind": "string", "dtype": "u32", "offset": 0, "length": 1}
    header = {
        "schema": [1, 0],
        "producer": "p",
        "strings": ["only"],
        "tables": {
            "sources": {"count": 1, "columns": {"file": file, "text": file}},
        },
    }
    assert ir_columns.decode(columns(header, b"\0" * 8)).sources[0].file == "only"
    refusal(ir_columns.decode, columns(header, b"\1" * 8))
    refusal(ir_columns.decode, columns(header | {"strings": [3]}, b"\0" * 8))
    refusal(ir_columns.decode, columns(header | {"strings": None}, b"\0" * 8))


# Each file is small and claims to be huge. The child may use 600 MiB above its start:
# MAX_BYTES of inflated data, once in pieces and once joined.
HUGE = {
    "inflates": "ir_columns.unpack(bomb(2**11))",
    "claims a header": "ir_columns.decode(b'GVC1' + b'\\xff' * 64)",
    "claims rows": "ir_columns.decode(columns(2**31, 2**31))",
    "claims items": "ir_columns.decode(columns(2**62, 2**62))",
}
CHILD = """
import json, resource, zlib
from gradviz.ir import columns as ir_columns
from gradviz.errors import SnapshotError

def bomb(mebibytes):
    deflater = zlib.compressobj(1)
    parts = [deflater.compress(bytes(2**20)) for _ in range(mebibytes)]
    return b"".join(parts) + deflater.flush()

def columns(count, length):
    column = {"kind": "int", "dtype": "u8", "offset": 0, "length": length}
    rows = {"count": count, "columns": {"count": column}}
    header = {"schema": [1, 0], "producer": "p", "tables": {"statistics": rows}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"GVC1" + len(text).to_bytes(4, "little") + text

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 600 * 2**20
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
    assert done.stdout.startswith("The snapshot ")
    assert done.stdout.count("\n") == 1


def test_the_limit_on_memory_would_be_felt():
    hog = CHILD.replace("CALL", "bytes(2**30)")
    done = subprocess.run(
        [sys.executable, "-c", hog], capture_output=True, text=True, check=False
    )
    assert "MemoryError" in done.stderr


def test_an_oversized_text_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(ir_json, "MAX_BYTES", 1000)
    assert "larger than" in refusal(ir_json.loads, CNN[ir_json.loads])


def test_a_column_with_too_many_entries_is_refused(monkeypatch):
    monkeypatch.setattr(_ir_reader, "MAX_ITEMS", 10)
    assert "entries" in refusal(ir_columns.decode, CNN[ir_columns.decode])


def columns(header: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"GVC1" + len(text).to_bytes(4, "little") + text + body


def statistics_header(count: Any, column: dict[str, Any]) -> dict[str, Any]:
    rows = {"count": count, "columns": {"count": column}}
    return {"schema": [1, 0], "producer": "p", "tables": {"statistics": rows}}
