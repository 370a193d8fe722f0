"""Malicious and broken files, each built by a function that is named after it."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import numpy as np

import gradtape

from ._files import record, rezipped, saved, with_pickle

GOOD = saved(gradtape, [gradtape.arange(6.0), gradtape.arange(6.0)[1:]])
PICKLE = record(GOOD, "data.pkl")
SIZES, STRIDES = b"K\x06\x85q\x07", b"K\x01\x85q\x08"  # of the first tensor
TRILLION = b"\x8a\x06" + (10**12).to_bytes(6, "little")
DATA = np.arange(6, dtype=np.float32).tobytes()
Build = Callable[[], bytes]
FILES: dict[str, tuple[str, Build]] = {}
"""What is wrong with a file -> part of the sentence that refuses it, and the file."""


def refused(sentence: str) -> Callable[[Build], Build]:
    """Enter the file that a function builds, under the function's name."""

    def enter(build: Build) -> Build:
        FILES[build.__name__] = (sentence, build)
        return build

    return enter


def pickled(operations: bytes) -> bytes:
    """Return a file whose pickle consists of these operations."""
    return with_pickle(b"\x80\x02" + operations + b".", GOOD)


def changed(old: bytes, new: bytes) -> bytes:
    """Return the good file with its pickle changed in one place."""
    assert old in PICKLE
    return with_pickle(PICKLE.replace(old, new), GOOD)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


TOUCH = text("touch executed")

# ---- pickles that run code ----


@refused("GLOBAL posix.system whose module posix is blocked")
def code_by_reduce() -> bytes:
    return pickled(b"cposix\nsystem\n" + TOUCH + b"\x85R")


@refused("Unsupported global: GLOBAL eval was not an allowed global")
def code_by_a_builtin_of_python_2() -> bytes:
    return pickled(b"c__builtin__\neval\n" + text("open('executed', 'w')") + b"\x85R")


@refused("Unsupported global: GLOBAL subprocess.Popen was not an allowed global")
def code_by_a_new_object() -> bytes:
    return pickled(b"csubprocess\nPopen\n" + TOUCH + b"\x85\x81")


@refused("Unsupported operand 105")
def code_by_inst() -> bytes:
    return pickled(b"(" + TOUCH + b"iposix\nsystem\n")


@refused("Unsupported operand 111")
def code_by_obj() -> bytes:
    return pickled(b"(" + TOUCH + b"o")


@refused("Unsupported operand 147")
def code_by_a_name_from_the_stack() -> bytes:
    return pickled(text("os") + text("system") + b"\x93" + TOUCH + b"\x85R")


@refused("Unsupported operand 130")
def code_by_an_extension() -> bytes:
    return pickled(b"\x82\x01" + TOUCH + b"\x85R")


@refused("Can only build Tensor, Parameter, OrderedDict")
def code_by_the_state_of_an_object() -> bytes:
    return pickled(b"ctorch\nfloat32\n}" + text("__setstate__") + b"Nsb")


@refused("Unsupported global: GLOBAL torch._utils.os.system was not an allowed global")
def code_by_a_dotted_name() -> bytes:
    return pickled(b"ctorch._utils\nos.system\n" + TOUCH + b"\x85R")


@refused("Trying to call reduce for unrecognized function")
def code_by_calling_what_was_made() -> bytes:
    return pickled(b"]" + TOUCH + b"\x85R")


@refused("it rebuilds a tensor with a function that rebuilds none")
def code_by_rebuilding_with_another_function() -> bytes:
    call = b"ctorch._tensor\n_rebuild_from_type_v2\n(c_codecs\nencode\nctorch\nTensor\n"
    return pickled(call + text("x") + b"\x85}tR")


@refused("whose module posix is blocked")
def code_in_the_old_format() -> bytes:
    old = saved(gradtape, [1], _use_new_zipfile_serialization=False)
    harmless = b"\x80\x02]q\x00K\x01a."
    assert harmless in old
    return old.replace(harmless, b"\x80\x02cposix\nsystem\n" + TOUCH + b"\x85R.")


# ---- tensors that lie ----


@refused("record size (24 bytes) does not match expected size (400 bytes")
def a_storage_that_claims_more_than_its_record() -> bytes:
    return changed(b"K\x06t", b"K\x64t")


@refused("record size (24 bytes) does not match expected size (48 bytes")
def a_storage_of_another_dtype() -> bytes:
    return changed(b"FloatStorage", b"DoubleStorage")


@refused("GLOBAL torch.FooStorage was not an allowed global")
def a_dtype_that_does_not_exist() -> bytes:
    return changed(b"FloatStorage", b"FooStorage")


@refused("is no class of storages")
def a_storage_of_a_class_that_is_none() -> bytes:
    return changed(b"ctorch\nFloatStorage", b"ctorch\nSize")


@refused("out of bounds for storage of size 24")
def a_huge_shape() -> bytes:
    return changed(SIZES, TRILLION + b"\x85q\x07")


@refused("out of bounds for storage of size 24")
def strides_that_leave_the_storage() -> bytes:
    return changed(STRIDES, b"J\x00\x00\x00\x10\x85q\x08")


@refused("Tensor: invalid storage offset -1")
def a_negative_offset() -> bytes:
    return changed(b"QK\x00K\x06", b"QJ\xff\xff\xff\xffK\x06")


@refused("Negative strides are not supported")
def negative_strides() -> bytes:
    return changed(STRIDES, b"J\xff\xff\xff\xff\x85q\x08")


@refused("no array has the sizes")
def a_shape_that_overflows() -> bytes:
    sizes = TRILLION + TRILLION + b"\x86q\x07"
    return changed(SIZES + STRIDES, sizes + b"K\0K\0\x86q\x08")


@refused("sizes, strides and the storage offset must be ints")
def a_shape_of_text() -> bytes:
    return changed(SIZES, text("6") + b"\x85q\x07")


@refused("size is inconsistent with indices: for dim 0, size is 2 but found index 7")
def coordinates_outside_of_a_sparse_tensor() -> bytes:
    t = gradtape
    good = saved(t, t.sparse_coo_tensor([[1], [1]], [3.0], (2, 2)))
    bad = np.array([[7], [1]], np.int64).tobytes()
    return rezipped(good, {"data/0": bad})


# ---- archives that lie ----


@refused("failed finding central directory")
def a_file_cut_short() -> bytes:
    return GOOD[: len(GOOD) * 2 // 3]


@refused("it is compressed or encrypted")
def a_zip_bomb() -> bytes:
    return rezipped(GOOD, {"data/0": bytes(64 << 20)}, compression=zipfile.ZIP_DEFLATED)


@refused("its checksum is wrong")
def a_flipped_bit() -> bytes:
    place = GOOD.index(DATA)
    return GOOD[:place] + bytes([GOOD[place] ^ 1]) + GOOD[place + 1 :]


@refused("it appears twice")
def a_record_that_appears_twice() -> bytes:
    file = io.BytesIO(GOOD)
    with zipfile.ZipFile(file, "a") as archive:
        archive.filelist.append(archive.filelist[4])
        archive._didModify = True  # type: ignore[attr-defined]
    return file.getvalue()


def directory_entry(name: bytes, content: bytes = GOOD) -> int:
    """Return where the directory describes a record."""
    return content.index(name, content.index(b"PK\1\2")) - 46


def patched(at: int, layout: str, *values: int) -> bytes:
    """Return the good file with numbers written over a place."""
    content = bytearray(GOOD)
    struct.pack_into(layout, content, at, *values)
    return bytes(content)


@refused("cannot be true")
def a_record_larger_than_the_file() -> bytes:
    return patched(directory_entry(b"archive/data/0") + 20, "<2L", 2**31, 2**31)


@refused("its header has another name than the directory")
def a_record_that_points_to_another() -> bytes:
    return patched(directory_entry(b"archive/data/0") + 42, "<L", 0)


@refused("it overlaps with")
def records_that_overlap() -> bytes:
    size = len(GOOD) // 2
    return patched(directory_entry(b"archive/data.pkl") + 20, "<2L", size, size)


@refused("is not in the folder 'archive'")
def a_path_out_of_the_archive() -> bytes:
    file = io.BytesIO(GOOD)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("../../executed", b"x")
    return file.getvalue()


@refused("PytorchStreamReader failed locating file data/../../etc/passwd")
def a_storage_key_that_is_a_path() -> bytes:
    return changed(text("0"), text("../../etc/passwd"))


@refused("failed locating file data/0")
def a_missing_storage() -> bytes:
    return rezipped(GOOD, drop=["data/0"])


@refused("failed locating file data.pkl")
def a_missing_pickle() -> bytes:
    return rezipped(GOOD, drop=["data.pkl"])


@refused("with version 99, but the supported versions are")
def a_version_of_the_future() -> bytes:
    return rezipped(GOOD, {"version": b"99\n"})


@refused("Unknown endianness type: middle")
def an_unknown_byte_order() -> bytes:
    return rezipped(GOOD, {"byteorder": b"middle"})


# ---- pickles that take memory or time ----


@refused("The file's pickle ends in the middle")
def text_longer_than_the_file() -> bytes:
    return pickled(b"X\xff\xff\xff\xffabc")


@refused("The file's pickle ends in the middle")
def a_pickle_cut_short() -> bytes:
    return with_pickle(PICKLE[:-20], GOOD)


@refused("a tuple has too few items")
def a_pickle_with_an_empty_stack() -> bytes:
    return pickled(b"\x86R")


@refused("The file's pickle is broken: KeyError 7")
def a_memo_that_is_empty() -> bytes:
    return pickled(b"h\x07")


@refused("The file's pickle is broken: IndexError")
def a_memo_with_huge_numbers() -> bytes:
    return pickled(b"K\x01r\xff\xff\xff\xffR")


@refused("it encodes a int as")
def a_bytearray_of_any_size() -> bytes:
    return pickled(b"c__builtin__\nbytearray\n" + TRILLION + b"\x85R")


@refused("it encodes a str as 'zlib'")
def an_encoding_that_is_a_program() -> bytes:
    return pickled(b"c_codecs\nencode\n" + text("x" * 99) + text("zlib") + b"\x86R")


@refused("nested beyond all measure")
def a_key_that_takes_forever_to_hash() -> bytes:
    tower = b")" + b"q\0h\0\x86" * 60  # each a pair of the one before
    return pickled(b"}" + tower + b"Ns")


@refused("an integer of more than 64 bits")
def keys_that_collide() -> bytes:
    keys = b"".join(
        b"\x8a\x10" + (i * (2**61 - 1)).to_bytes(16, "little") + b"N"
        for i in range(8, 99)
    )
    return pickled(b"}(" + keys + b"u")


@refused("nested beyond all measure")
def lists_nested_very_deep() -> bytes:
    return pickled(b"]" * 50_000 + b"a" * 49_999)


@refused("nested beyond all measure")
def tuples_nested_very_deep() -> bytes:
    return pickled(b")" + b"\x85" * 50_000)


@refused("nested beyond all measure")
def marks_nested_very_deep() -> bytes:
    return pickled(b"(" * 50_000)


@refused("more than the file has")
def an_old_file_that_claims_a_huge_storage() -> bytes:
    old = saved(gradtape, gradtape.ones(3), _use_new_zipfile_serialization=False)
    assert b"K\x03N" in old
    return old.replace(b"K\x03N", TRILLION + b"N")


@refused("ends in the middle of a storage")
def an_old_file_cut_short() -> bytes:
    old = saved(gradtape, gradtape.ones(3), _use_new_zipfile_serialization=False)
    return old[:-5]


@refused("is followed by 2")
def an_old_file_whose_sizes_differ() -> bytes:
    old = saved(gradtape, gradtape.ones(3), _use_new_zipfile_serialization=False)
    place = len(old) - 12 - 8
    return old[:place] + struct.pack("<q", 2) + old[place + 8 :]


# ---- pickles that make much of little: by what they have remembered ----

BOMBS: dict[str, Build] = {}
"""Files of some 100 kB that would take gigabytes, or hours."""

TIMES = 20_000
CALL = b"h\1h\2R"  # the function and the arguments that were remembered
HELD = gradtape.ones(1 << 16, dtype=gradtape.uint8)
HOLDER = saved(gradtape, HELD)


def bomb(build: Build) -> Build:
    """Enter the file that a function builds, under the function's name."""
    BOMBS[build.__name__] = build
    return build


def calls(function: bytes, arguments: bytes) -> bytes:
    """Return a file that calls a function again and again, with the same arguments."""
    return pickled(
        b"]q\0(" + function + b"q\1" + arguments + b"q\2" + CALL * TIMES + b"e"
    )


def many(item: bytes) -> bytes:
    """Return the operations of a list of 100,000 equal items."""
    return b"](" + item * 100_000 + b"e"


@bomb
def empty_sets() -> bytes:
    return pickled(b"](" + b"\x8f" * 250_000 + b"e")


@bomb
def copies_of_a_text() -> bytes:
    arguments = text("x" * 100_000) + text("ascii") + b"\x86"
    return calls(b"c_codecs\nencode\n", arguments)


@bomb
def copies_of_bytes() -> bytes:
    arguments = text("x" * 100_000) + text("ascii") + b"\x86"
    return calls(b"c__builtin__\nbytearray\n", arguments)


@bomb
def copies_of_a_dictionary() -> bytes:
    items = b"".join(b"J" + i.to_bytes(4, "little") + b"N" for i in range(20_000))
    return calls(b"ccollections\nOrderedDict\n", b"}(" + items + b"u\x85")


@bomb
def states_of_many_names() -> bytes:
    items = b"".join(text(f"{i:05}") + b"N" for i in range(9_000))
    one = b"h\1)Rh\2b"
    start = b"ccollections\nOrderedDict\nq\1}(" + items + b"uq\2"
    return pickled(start + b"](" + one * TIMES + b"e")


@bomb
def a_set_of_the_same_many_times() -> bytes:
    return calls(b"c__builtin__\nset\n", many(b"N") + b"\x85")


@bomb
def long_keys_again_and_again() -> bytes:
    key = b"(" + b"N" * 9_990 + b"tq\1"
    return pickled(key + b"}(" + b"h\1N" * 50_000 + b"u")


@bomb
def moved_tensors() -> bytes:
    inside = record(HOLDER, "data.pkl")[2:-1]
    move = b"ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\nr\0\1\0\0"
    arguments = b"(" + inside + b"ctorch\nfloat64\n" + text("cpu") + b"\x89t"
    call = b"j\0\1\0\0j\1\1\0\0R"
    operations = move + arguments + b"r\1\1\0\0](" + call * TIMES + b"e"
    return with_pickle(b"\x80\2" + operations + b".", HOLDER)
