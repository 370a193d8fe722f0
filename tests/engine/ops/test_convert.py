"""From tensors to Python, NumPy, other dtypes, copies and files, and back."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import gradtape

from ..nn.lines import check_line

SETUP = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
z = t.zeros(2, dtype=t.complex64, requires_grad=True)
i3 = t.arange(6).reshape(2, 3)
"""

SETUP_2 = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
v = t.arange(3.0)
i = t.tensor([0, 2])
"""

CASTS = """
x.numpy()
x.detach().numpy().shape
np.asarray(x)
x.item()
t.tensor([]).item()
t.tensor([[3]]).item()
x.tolist().__class__
t.tensor(3).tolist()
float(i3)
int(t.tensor(2.7))
bool(t.tensor([]))
bool(i3)
bool(t.tensor([0.]))
complex(t.tensor(2.))
int(t.tensor(float('nan')))
[1,2,3][t.tensor(1)]
[1,2,3][t.tensor(1.)]
range(t.tensor(3))
len(t.tensor(3))
list(t.tensor(3))
list(i3)
3 in i3
t.tensor(3) in i3
'a' in i3
[1] in i3
None in i3
x.to('cpu') is x
x.to(t.float32) is x
x.to(t.float32,copy=True).grad_fn
x.to('cpu',t.float64).dtype
x.to(i3).dtype
x.to(dtype=t.int32).dtype
x.to('foo')
x.to(3)
x.to()
x.to(t.int64).requires_grad
x.bfloat16().dtype
x.char().dtype
x.cfloat().dtype
x.cpu() is x
i3.byte().dtype
t.tensor([-1.5,300.7]).to(t.uint8)
t.tensor([float('nan'),float('inf'),1e20]).to(t.int64)
t.tensor([float('nan'),float('inf'),1e20]).to(t.int32)
t.tensor([float('nan'),float('inf'),1e20,300.,-5.]).to(t.int8)
x.float().double().half().grad_fn
x.is_contiguous()
x.t().is_contiguous()
x.is_floating_point(), x.is_complex(), x.is_signed()
t.is_floating_point(x), t.is_complex(x), t.is_tensor(1), t.numel(x)
x.real is x
z.real.grad_fn, z.imag.grad_fn, z.real.grad_fn.next_functions
x.imag
x.untyped_storage().nbytes()
x.layout, x.is_sparse, x.is_quantized, x.is_meta, x.is_cpu
x.names
"""

COPIES = """
t.typename(x)
t.typename(3)
t.is_nonzero(t.tensor([1]))
t.is_nonzero(v)
x.dim_order()
x.is_same_size(x)
import copy; y=copy.deepcopy(x); (y, y is x)
import copy; copy.deepcopy(x*1)
import copy; y=copy.copy(x); y
import pickle; pickle.loads(pickle.dumps(x))
import pickle; pickle.loads(pickle.dumps(x.detach().t()))
t.from_dlpack(np.arange(3.))
np.from_dlpack(v)
v.__contains__(1.)
v.tolist()
len(x), bool(t.tensor(1)), int(t.tensor(3.)), float(t.tensor(3))
[round(float(e),2) for e in v]
t.isinstance if False else isinstance(x,t.FloatTensor)
a=np.ones(2); y=t.from_numpy(a); y.add_(1); a
a=t.ones(2); y=a.numpy(); y+=1; a
t.tensor([1.5,-2.5,300.]).to(t.int8)
t.tensor([1.5,-2.5,300.]).to(t.uint8)
t.tensor([1e10,-1e10]).to(t.int32)
t.tensor([0.,0.5,-1]).to(t.bool)
t.tensor([1+2j]).to(t.bool)
"""


@pytest.mark.parametrize("line", CASTS.strip().splitlines())
def test_casts_and_values(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", COPIES.strip().splitlines())
def test_copies_and_shared_memory(line: str) -> None:
    check_line(line, SETUP_2)


def test_numpy_shares_memory_both_ways() -> None:
    array = np.zeros(3)
    tensor = gradtape.from_numpy(array)
    tensor[1] = 5.0
    array[2] = 7.0
    assert tensor.tolist() == [0.0, 5.0, 7.0]
    assert np.shares_memory(tensor.numpy(), array)


def test_save_and_load_keep_dtype_stride_and_gradient_flag(tmp_path: Path) -> None:
    tensor = gradtape.arange(6.0).view(2, 3).t().clone().requires_grad_()
    gradtape.save({"weight": tensor}, tmp_path / "state.pt")
    found = gradtape.load(tmp_path / "state.pt")["weight"]
    assert found.stride() == tensor.stride()
    assert found.requires_grad
    assert found.tolist() == tensor.tolist()


def test_deepcopy_keeps_views_of_one_memory_together() -> None:
    base = gradtape.arange(4.0)
    twin, part = copy.deepcopy([base, base[1:]])
    twin[1] = 9.0
    assert part[0].item() == 9.0
    assert base[1].item() == 1.0
