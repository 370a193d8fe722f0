"""Storages, set_ and resize_ beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as gt

from ..nn.lines import check_line
from ..oracle import assert_same


def untyped_storage_of_a_size(t):
    s = t.UntypedStorage(4)
    return (
        s.nbytes(),
        len(s),
        s.size(),
        s.device,
        type(s).__name__,
        s.is_cuda,
        s.dtype if hasattr(s, "dtype") else None,
    )


def untyped_storage_written(t):
    s = t.UntypedStorage([1, 2, 3])
    s[0] = 7
    s[1:] = 9
    return s.tolist()


def untyped_storage_read_past_its_end(t):
    return t.UntypedStorage([1, 2, 3])[5]


def untyped_storage_copies(t):
    s = t.UntypedStorage([1, 2, 3])
    return (
        s.clone().tolist(),
        s.copy_(t.UntypedStorage([4, 5, 6])).tolist(),
        s.fill_(1).tolist(),
    )


def untyped_storage_filled_counts_no_write(t):
    x = t.ones(3)
    s = x.untyped_storage()
    s.fill_(0)
    return x, x._version


def storage_grown(t):
    x = t.ones(3)
    s = x.untyped_storage()
    s.resize_(40)
    return x, s.nbytes(), x.untyped_storage().nbytes(), x.shape


def storage_freed(t):
    x = t.ones(3)
    x.untyped_storage().resize_(0)
    return x.shape, x.untyped_storage().nbytes(), x.data_ptr(), x._version


def storage_freed_and_made_anew(t):
    x = t.ones(3)
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(12)
    x.fill_(2)
    return x


def storage_grown_is_seen_through_views_and_data(t):
    x = t.ones(3)
    y = x.data
    z = x[1:]
    x.untyped_storage().resize_(40)
    x.fill_(5)
    return y, z, y.untyped_storage().nbytes()


def typed_storage_written(t):
    x = t.ones(3)
    s = x.storage()
    s[0] = 4
    s.fill_(7)
    return x


def typed_storage_cast(t):
    return t.FloatStorage([1, 2, 3]).double().tolist(), t.FloatStorage(
        [1, 2, 3]
    ).int().dtype


def storages_of_views_are_one(t):
    x = t.ones(3)
    y = x[1:]
    return (
        x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr(),
        x.untyped_storage()._cdata == y.untyped_storage()._cdata,
        x.untyped_storage() == y.untyped_storage(),
        x.untyped_storage() is x.untyped_storage(),
        hash(x.untyped_storage()) == hash(y.untyped_storage()),
    )


def storage_from_a_buffer(t):
    s = t.UntypedStorage.from_buffer(b"abcdefgh", byte_order="little", dtype=t.int32)
    return s.tolist()


def set_to_a_tensor(t):
    x = t.ones(3)
    y = t.zeros(4)
    x.set_(y)
    return x, x._version, y._version, x.data_ptr() == y.data_ptr()


def set_counts_apart_from_its_source(t):
    x = t.ones(3)
    y = t.zeros(4)
    x.set_(y)
    x.add_(1)
    return y, x._version, y._version


def set_to_nothing(t):
    x = t.ones(3)
    x.set_()
    return x, x.shape, x._version


def set_to_a_storage_with_strides(t):
    x = t.ones(3)
    x.set_(t.arange(6.0).untyped_storage(), 1, (2, 2), (2, 1))
    return x, x.storage_offset(), x.stride()


def set_to_bytes(t):
    x = t.ones(3)
    x.set_(t.arange(6.0).untyped_storage())
    return x


def set_to_numbers(t):
    x = t.ones(3)
    x.set_(t.arange(6.0).storage())
    return x


def set_with_strides(t):
    x = t.ones(3)
    x.set_(t.arange(6.0), 1, (2,), (2,))
    return x


def set_with_a_size(t):
    x = t.ones(3)
    x.set_(t.arange(6.0), 1, (2,))
    return x


def set_past_the_end(t):
    x = t.ones(3)
    x.set_(t.arange(6.0), 1, (20,))
    return x.shape


def set_to_another_dtype(t):
    x = t.ones(3)
    x.set_(t.arange(6))
    return x


def set_a_leaf(t):
    x = t.ones(3, requires_grad=True)
    x.set_(t.arange(6.0))
    return x


def set_a_result(t):
    x = t.ones(3, requires_grad=True)
    y = x * 1
    y.set_(t.arange(6.0))
    return y, y.grad_fn


def set_a_leaf_without_grad(t):
    x = t.ones(3, requires_grad=True)
    with t.no_grad():
        x.set_(t.arange(6.0))
    return x, x._version


def set_shares_the_counter_of_old_views(t):
    x = t.ones(3)
    v = x[1:]
    x.set_(t.zeros(2))
    x.add_(1)
    return v, v._version, x._version


def set_to_its_own_storage(t):
    x = t.ones(3)
    x.set_(x.untyped_storage(), 1, (2,))
    return x, x._version


def set_by_keyword(t):
    x = t.ones(3)
    x.set_(source=t.zeros(2))
    return x, x.is_set_to(x), x.is_set_to(t.zeros(2))


def resize_smaller(t):
    x = t.arange(4.0)
    x.resize_(2)
    return x, x._version, x.untyped_storage().nbytes()


def resize_to_another_shape(t):
    x = t.arange(4.0)
    x.resize_(2, 2)
    return x, x._version


def resize_to_the_same(t):
    x = t.arange(4.0)
    x.resize_(4)
    return x, x._version


def resize_larger(t):
    x = t.arange(4.0)
    x.resize_(3, 3)
    return x.shape, x.untyped_storage().nbytes(), x.flatten()[:4], x.is_contiguous()


def resize_a_view(t):
    x = t.arange(4.0)[2:]
    x.resize_(3)
    return x.shape, x.storage_offset(), x.untyped_storage().nbytes(), x[:2]


def resize_a_leaf(t):
    x = t.arange(4.0, requires_grad=True)
    x.resize_(2)


def resize_a_result(t):
    x = t.arange(4.0, requires_grad=True) * 1
    x.resize_(2)


def resize_moves_the_views_too(t):
    x = t.arange(4.0)
    v = x[:2]
    x.resize_(100)
    v.fill_(9)
    return x[:4], v, v._version


def resize_to_a_negative_size(t):
    x = t.arange(4.0)
    x.resize_(-1)


def resize_as(t):
    x = t.arange(4.0)
    x.resize_as_(t.zeros(2, 2))
    return x


def resize_with_a_format(t):
    x = t.arange(4.0).view(2, 2)
    x.resize_(2, 2, memory_format=t.contiguous_format)
    return x


def resize_a_transposed(t):
    x = t.arange(6.0).view(2, 3).t()
    x.resize_(3, 2)
    return x.stride(), x


def resize_numpy_memory(t):
    x = t.from_numpy(np.ones(2))
    x.resize_(5)


def resize_numpy_memory_smaller(t):
    x = t.from_numpy(np.ones(4))
    x.resize_(2)
    return x


def resize_after_numpy_looked(t):
    x = t.ones(2)
    x.numpy()
    x.resize_(5)


def resize_by_a_tuple(t):
    x = t.arange(4.0)
    x.resize_((2,))
    x.resize_([4])
    return x


def resize_an_empty(t):
    x = t.zeros(0)
    x.resize_(2)
    return x.shape


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_a_deprecated_storage_is_announced_once(monkeypatch):
    from gradtape.ops.memory import typed_storage as _typed_storage

    monkeypatch.setitem(_typed_storage._warned, "before", False)
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        gt.zeros(1).storage()
    gt.zeros(1).storage()
    monkeypatch.setitem(_typed_storage._warned, "always", False)  # restored at the end
    gt.storage._set_always_warn_typed_storage_removal(True)
    assert gt.storage._get_always_warn_typed_storage_removal()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        gt.zeros(1).storage()


def test_growing_memory_leaves_other_tensors_alone():
    other = gt.ones(3)
    x = gt.arange(3.0)
    x.resize_(100)
    assert other.tolist() == [1, 1, 1]
    assert x[:3].tolist() == [0, 1, 2]


ON_META = """
s = kind([1, 2, 3], device="meta"); [s.device, s.nbytes(), s.size(), s.data_ptr()]
[kind(n, device="meta").nbytes() for n in (0, 5)]
[kind(device="meta").nbytes(), repr(kind([1, 2], device="meta"))]
kind([1, 2], device="meta")[0]
kind([1, 2], device="meta").tolist()
kind([1, 2], device="meta").cpu()
kind([1, 2], device="meta").fill_(1).device
kind([1, 2], device="meta").copy_(kind([3, 4])).device
kind([1, 2]).copy_(kind([3, 4], device="meta"))
kind([1, 2], device="meta").clone().device
t.ones(2, device="meta").untyped_storage()[0]
"""


@pytest.mark.parametrize("kind", ["t.UntypedStorage", "t.TypedStorage"])
@pytest.mark.parametrize("line", ON_META.strip().splitlines())
def test_storages_on_the_meta_device_have_no_values(line: str, kind: str):
    check_line(line, f"import warnings; warnings.simplefilter('ignore'); kind = {kind}")
