"""Memory shared with NumPy and DLPack, copies and pickles: beside PyTorch."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gradtape as gt

from ..oracle import assert_same


def numpy_and_tensor_share(t):
    a = np.ones(3)
    x = t.from_numpy(a)
    x.add_(1)
    a[0] = 7
    return a, x, x._version


def from_numpy_of_a_list(t):
    return t.from_numpy([1])


def from_numpy_of_negative_strides(t):
    return t.from_numpy(np.ones(3)[::-1])


def from_numpy_of_text(t):
    return t.from_numpy(np.array(["a"]))


def from_numpy_keeps_strides(t):
    return t.from_numpy(np.array(3.0)), t.from_numpy(np.ones((2, 3)).T).stride()


def numpy_of_a_leaf(t):
    x = t.ones(3, requires_grad=True)
    x.numpy()


def numpy_by_force(t):
    x = t.ones(3, requires_grad=True)
    return x.numpy(force=True), np.asarray(x.detach())


def asarray_of_a_leaf(t):
    x = t.ones(3, requires_grad=True)
    return np.asarray(x)


def array_protocol(t):
    x = t.ones(3)
    n = x.numpy()
    n[0] = 5
    return (
        x,
        np.asarray(x).base is not None,
        x.__array__().dtype,
        x.__array__(np.float64).dtype,
    )


def frombuffer_reads(t):
    return t.frombuffer(bytearray(b"\0\0\x80?"), dtype=t.float32)


def frombuffer_shares(t):
    b = bytearray(8)
    x = t.frombuffer(b, dtype=t.int32, count=1, offset=4)
    x[0] = 1
    return b


def frombuffer_of_odd_length(t):
    return t.frombuffer(bytearray(3), dtype=t.int32)


def frombuffer_of_nothing(t):
    return t.frombuffer(bytearray(0), dtype=t.int32)


def frombuffer_too_short(t):
    return t.frombuffer(bytearray(8), dtype=t.int32, count=5)


def frombuffer_beyond_the_end(t):
    return t.frombuffer(bytearray(8), dtype=t.int32, offset=9)


def frombuffer_of_no_buffer(t):
    return t.frombuffer(3, dtype=t.int32)


def dlpack_from_numpy(t):
    return t.from_dlpack(np.arange(3.0))


def dlpack_to_numpy(t):
    x = t.arange(3.0)
    n = np.from_dlpack(x)
    x.add_(1)
    return n


def dlpack_between_tensors(t):
    x = t.arange(3.0)
    y = t.from_dlpack(x)
    y.add_(1)
    return x, x._version, y._version


def dlpack_of_a_leaf(t):
    x = t.ones(3, requires_grad=True)
    return t.from_dlpack(x)


def shared_memory_is_marked(t):
    x = t.ones(3)
    return (
        x.share_memory_() is x,
        x.is_shared(),
        x.untyped_storage().is_shared(),
        t.ones(2).is_shared(),
    )


def internal_overlap_from_strides(t):
    x = t.arange(4.0)
    return (
        t._debug_has_internal_overlap(x),
        t._debug_has_internal_overlap(x.expand(2, 4)),
        t._debug_has_internal_overlap(x.as_strided((3, 2), (1, 1))),
    )


def deepcopy_of_a_view(t):
    x = t.arange(4.0)[1:]
    y = copy.deepcopy(x)
    return y, y.storage_offset(), y.untyped_storage().nbytes(), y._is_view()


def deepcopy_keeps_sharing(t):
    x = t.arange(4.0)
    v = x[1:]
    a, b = copy.deepcopy([x, v])
    a.add_(1)
    return b, b._is_view(), b._version, a._version


def deepcopy_of_a_result(t):
    x = t.ones(2, requires_grad=True) * 1
    copy.deepcopy(x)


def deepcopy_keeps_grad_and_attributes(t):
    x = t.ones(2, requires_grad=True)
    x.grad = t.ones(2)
    x.foo = [1]
    y = copy.deepcopy(x)
    return y, y.grad, y.foo is x.foo, y.foo, y.is_leaf


def pickle_keeps_the_offset(t):
    x = t.arange(4.0)[1:].requires_grad_()
    y = pickle.loads(pickle.dumps(x))
    return y, y.storage_offset(), y.requires_grad


def pickle_of_a_result(t):
    x = t.ones(2, requires_grad=True) * 1
    return pickle.loads(pickle.dumps(x))


def pickle_shares_nothing(t):
    x = t.arange(4.0)
    a, b = pickle.loads(pickle.dumps([x, x[1:]]))
    a.add_(1)
    return b


def deepcopy_with_a_hook(t):
    x = t.ones(2, requires_grad=True)
    x.register_hook(lambda g: g)
    copy.deepcopy(x)


def pickle_with_a_hook(t):
    x = t.ones(2, requires_grad=True)
    x.register_hook(lambda g: g)
    pickle.dumps(x)


def copy_shares_the_counter(t):
    x = t.arange(4.0)
    x.add_(1)
    y = copy.copy(x)
    return y._version, y is x, y.data_ptr() == x.data_ptr()


def copy_of_a_result(t):
    x = t.ones(2, requires_grad=True) * 1
    y = copy.copy(x)
    return y, y.requires_grad, y.grad_fn


def addresses(t):
    x = t.ones(2, 3)
    return (
        x.data_ptr() == x.untyped_storage().data_ptr(),
        x[1].data_ptr() - x.data_ptr(),
        t.ones(0).data_ptr(),
        x[2:].data_ptr(),
    )


def as_strided_past_the_end(t):
    t.ones(3)
    t.ones(3).as_strided((2,), (1,), 5)


def as_strided_backwards(t):
    x = t.ones(3)
    x.as_strided((2,), (-1,))


def as_strided_of_unlike_lengths(t):
    x = t.ones(3)
    x.as_strided((2,), (1, 1))


def as_strided_of_a_negative_size(t):
    x = t.ones(3)
    x.as_strided((-2,), (1,))


def as_strided_before_the_start(t):
    x = t.ones(3)
    x.as_strided((2,), (1,), -1)


def tensor_over_bytes(t):
    x = t.tensor([1.0, 2.0])
    return t.tensor([]).set_(x.untyped_storage(), 0, (2,)).add_(1), x


def legacy_tensors_over_storages(t):
    return t.Tensor(t.arange(3.0).storage()), t.FloatTensor(t.FloatStorage([1, 2]))


def storage_resized(t):
    s = t.UntypedStorage(4)
    s.resize_(8)
    return s.nbytes(), s.resizable(), s.is_pinned()


def storage_as_bytes(t):
    return bytes(t.UntypedStorage([1, 2]))


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_read_only_memory_is_announced(monkeypatch):
    array = np.ones(2)
    array.flags.writeable = False
    from gradtape._common import warn as _warn

    monkeypatch.setattr(_warn, "_given", set())
    with pytest.warns(UserWarning, match="not writable"):
        gt.from_numpy(array)


def test_reshaping_the_array_leaves_the_tensor_as_it_was():
    array = np.zeros(4)
    x = gt.from_numpy(array)
    array.resize((2, 2), refcheck=False)
    assert x.shape == (4,)
