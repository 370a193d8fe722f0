"""New tensors at the edges: out= of another shape, huge numbers, memory of others."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line
from ..oracle import assert_same

SETUP = """
base = t.zeros(2, 3)
part = base.narrow(1, 1, 2)
shared = t.rand(1).expand(10)
a = np.arange(4, dtype=np.float32)
o = t.ones(2, 2)
e = t.ones(0)
"""

LINES = """
[t.linspace(0, 3, 4, out=part).shape, base]
[t.logspace(0, 3, 4, out=part).shape, base]
[t.arange(0, 4, out=part) is part, base]
[t.arange(0, 4, out=base.t()[1:]), base]
[t.linspace(0, 3, 5, out=part).shape, base]
[t.full((4,), 7.0, out=part).shape, base]
t.linspace(1, 10, 10, out=shared)
t.logspace(1, 10, 10, out=shared)
t.arange(10, out=shared)
t.zeros(2, 2, out=o, dtype=t.int16)
t.ones(2, 2, out=o, dtype=t.int16)
t.empty(2, 2, out=o, dtype=t.int16)
t.full((2, 2), 1, out=o, dtype=t.int16)
t.rand(2, 2, out=o, dtype=t.int16)
t.randn(2, 2, out=o, dtype=t.int16)
t.eye(2, out=o, dtype=t.int16)
t.arange(4, out=o, dtype=t.int16)
t.range(0, 3, out=o, dtype=t.int16)
t.linspace(0, 3, 4, out=o, dtype=t.int16)
t.logspace(0, 3, 4, out=o, dtype=t.int16)
t.randint(3, (2, 2), out=o, dtype=t.int16)
t.randperm(4, out=o, dtype=t.int16)
t.normal(0.0, 1.0, (2, 2), out=o, dtype=t.int16)
t.zeros(2, 2, out=o, layout=t.sparse_coo)
t.zeros(2, 2, out=o, device="meta")
t.arange(0, 5, out=o)
t.arange(0, 5, out=e)
t.fft.fftfreq(5, out=t.empty(3))
t.fft.rfftfreq(5, out=t.empty(8))
t.fft.fftfreq(5, out=t.empty(5), dtype=t.float64)
t.linspace(1j, 3, 4, dtype=t.float32)
t.linspace(1j, 3, 4)
t.meshgrid(t.ones(1), t.ones(1, device="meta"), indexing="ij")
items = [1]; items.append(items); t.tensor(items)
items = []; items.append(items); t.tensor(items)
t.ones(2).new(2, device="meta")
t.empty_strided((2**62,), (8,))
t.tensor(2 + 1j, dtype=t.float32)
t.tensor([2 + 1j], dtype=t.int64)
t.ones(2).__dlpack__(stream="a")
t.isclose(t.ones(2), t.ones(3))
t.heaviside(t.ones(2, dtype=t.complex64), t.ones(2, dtype=t.complex64))
t.nonzero_static(t.tensor([1, 2]), size=3, out=t.empty(2, dtype=t.int64))
t.Storage is t.FloatStorage
t.complex(t.ones(2, dtype=t.int64), t.ones(2, dtype=t.int64))
t.polar(t.ones(2, dtype=t.bool), t.ones(2, dtype=t.bool))
t.polar(t.ones(2), t.ones(2, dtype=t.float64))
t.complex(t.ones(2), t.ones(2, dtype=t.int32))
t.complex(t.ones(2), t.ones(2), out=t.ones(2))
t.polar(t.ones(2), t.ones(2), out=t.ones(2, dtype=t.complex128))
t.meshgrid(t.ones(1), t.ones(1, dtype=t.int32), indexing="ij")
t.vstack(t.ones(3))
t.dstack(t.ones(3))
t.row_stack(t.ones(3))
t.row_stack([t.ones(3), t.zeros(3)])
t.vstack(())
t.block_diag()
t.block_diag(3)
t.block_diag(t.tensor(5), t.ones(1, 1, 1))
t.vander(t.arange(3.0), -1)
t.randperm(256, out=t.empty(0, dtype=t.uint8)).shape
t.cat([e, e], dim=1)
t.cat([e], dim=-3)
float(t.tensor(1.5j))
int(t.tensor(1.5j))
float(t.tensor(2.0 + 0j))
t.tensor(2**64, dtype=t.float32)
t.tensor([2**64 - 1, 1], dtype=t.float64)
t.tensor([-(2**63) - 1, 0], dtype=t.bool)
t.tensor(2**64, dtype=t.uint64)
t.tensor(10**400, dtype=t.float64)
t.tensor(2**64)
t.tensor([0, "text"])
t.tensor([[0], ["text"]])
t.tensor(b"bytes")
t.FloatTensor(device="cuda")
t.Tensor(t.Size([2]), device="cuda")
t.Tensor(2, device="cpu").shape
t.randperm(300, out=t.empty(0, dtype=t.uint8))
t.randperm(2050, out=t.empty(0, dtype=t.float16))
t.randperm(2**24 + 2, dtype=t.float32)
t.empty([2, 4, 2**29, 2**29], dtype=t.float64)
t.randn(2**40, 2**40)
t.empty_strided((2,), ())
t.ones(1).new_empty_strided((2,), (), dtype=t.float64)
t.empty_strided((2,), (-1,))
t.empty_strided((-2,), (1,))
t.empty_strided((2, 3, 4), (2, 4, 6)).untyped_storage().nbytes()
t.empty_strided((2, 3, 4), (0, 0, 0)).storage().size()
t.asarray(o, dtype=t.float64, copy=False)
t.asarray([1, 2], copy=False)
t.asarray(np.float64(0.5), copy=False)
t.asarray(np.float64(0.5))
t.asarray(a, dtype=t.float64, copy=False)
t.asarray(memoryview(a), dtype=t.float32).data_ptr() == a.ctypes.data
t.asarray(memoryview(a), dtype=t.float32, copy=True).data_ptr() == a.ctypes.data
t.asarray(memoryview(a), dtype=t.float64)
t.asarray(bytearray(b"abcd"))
t.asarray(bytearray(b"abcde"))
t.asarray(o.__dlpack__(), copy=False).data_ptr() == o.data_ptr()
x = t.ones(2, requires_grad=True); [t.asarray(x), x.mul(2)]
t.asarray(t.ones(2, requires_grad=True), requires_grad=False).requires_grad
t.asarray(range(5))
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_new_tensors_at_the_edges(line: str):
    check_line(line, SETUP)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "bfloat16", "float32"])
@pytest.mark.parametrize("bounds", [(0, None), (1, None), (-100, None), (7,), (2, 9)])
def test_whole_numbers_from_a_bound_on(dtype: str, bounds: tuple[int | None, ...]):
    def program(t):
        t.manual_seed(3)
        return t.empty(20, dtype=getattr(t, dtype)).random_(*bounds)

    assert_same(program)


def test_sequences_without_items_have_no_shape():
    class Broken:
        def __len__(self):
            return 2

        def __getitem__(self, at):
            raise TypeError

    assert_same(lambda t: t.tensor(Broken()))
