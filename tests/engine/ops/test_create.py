"""New tensors: values, sizes, dtypes, the ``*_like`` family, the old type names."""

from __future__ import annotations

import importlib.util
import warnings

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

VALUES = """
t.tensor([[1,2],[3]])
t.tensor([[1,2],3])
t.tensor([1,[2]])
t.tensor([[[1,2],[3,4]],[[1,2],[3]]])
t.tensor([1.5,2],dtype=t.int64)
t.tensor(300,dtype=t.uint8)
t.tensor([300],dtype=t.uint8)
t.tensor(-1,dtype=t.uint8)
t.tensor(1e30,dtype=t.float16)
t.tensor([1e30],dtype=t.float32)
t.tensor(1e300)
t.tensor(2**63)
t.tensor([2**63])
t.tensor(2**64)
t.tensor(float('inf'),dtype=t.int64)
t.tensor([float('nan')],dtype=t.int32)
t.tensor("a")
t.tensor(["a"])
t.tensor(None)
t.tensor([None])
t.tensor({})
t.tensor({1:2})
t.tensor({1,2})
t.tensor(range(3))
t.tensor([])
t.tensor([[],[]])
t.tensor(())
t.tensor([np.float64(1)])
t.tensor([np.float32(1), 2.0])
t.tensor([np.int32(1)])
t.tensor([np.int8(1), 2])
t.tensor(np.float64(1))
t.tensor(np.array([1,2.]))
t.tensor([t.tensor(1.),2])
t.tensor([t.tensor([1.,2]),t.tensor([3,4.])])
t.tensor([t.tensor(1.,dtype=t.float64),2])
t.tensor(x)
t.tensor(x.detach())
t.tensor([1+2j])
t.tensor([1+2j],dtype=t.float32)
t.tensor([True,2])
t.tensor([True,2.5])
t.tensor(1,requires_grad=True)
t.tensor([1],dtype=int)
t.tensor(1.,dtype=bool)
t.tensor([1],device='cpu')
t.tensor(1,foo=2)
t.tensor([1,2],[3])
t.tensor(np.array(['a']))
t.tensor(np.arange(3)[::-1])
t.from_numpy(np.arange(3)[::-1])
t.from_numpy([1])
t.from_numpy(np.array(['a']))
t.as_tensor([1,2])
t.asarray([1,2])
t.frombuffer(bytearray(b'abcd'),dtype=t.uint8)
"""

SIZES = """
t.zeros(2,3,dtype=float)
t.zeros((2,3),2)
t.zeros(-1)
t.zeros('a')
t.zeros(2.5)
t.zeros([2,2.5])
t.zeros(t.tensor(2),3)
t.zeros(t.Size([2]))
t.zeros()
t.zeros(size=(2,))
t.full((2,),3)
t.full((2,),3.)
t.full((2,),True)
t.full(2,3)
t.full((2,),1j)
t.full((2,),t.tensor(3.))
t.full((2,),[1])
t.arange(5)
t.arange(5.)
t.arange(1,5,2)
t.arange(0,1,0.25)
t.arange(5,1)
t.arange(5,1,-1)
t.arange(0,5,0)
t.arange(0,float('inf'))
t.arange(t.tensor(3))
t.arange(3,dtype=t.float16)
t.arange(0,3,dtype=t.bool)
t.arange(3,requires_grad=True)
t.linspace(0,1,5)
t.linspace(0,1,1)
t.linspace(0,1,0)
t.linspace(0,10,5,dtype=t.int64)
t.linspace(0,1,-1)
t.logspace(0,2,3)
t.eye(2,3)
t.eye(-1)
t.eye(2,dtype=t.int64)
t.zeros_like(i3.t()).stride()
t.zeros_like(x[:,::2]).stride()
t.zeros_like(x[:1].expand(3,4)).stride()
t.ones_like(i3,dtype=t.float64)
t.full_like(i3,2.5)
t.zeros_like([1])
t.zeros(2,requires_grad=True,dtype=t.int64)
t.scalar_tensor(3)
t.complex(t.ones(2),t.ones(2))
t.tril_indices(2,3)
t.triu_indices(3,3,1)
t.vander(t.tensor([1,2,3]))
t.cartesian_prod(t.tensor([1,2]),t.tensor([3]))
t.combinations(t.tensor([1,2,3]))
t.heaviside(t.tensor([0.]),t.tensor([.5]))
x.new_zeros(2)
x.new_zeros((2,),dtype=t.int64)
x.new_tensor([1,2])
x.new_tensor(x)
x.new_full((2,),3)
x.new_full((2,),3,dtype=t.int64)
x.new_ones(2,3)
i3.new_tensor([1.5])
x.type_as(i3).dtype
t.view_as_real(z).grad_fn, t.view_as_complex(x.detach().view(3,2,2)).dtype
t.view_as_real(x)
t.view_as_complex(x)
t.get_default_dtype()
t.finfo(t.float32)
"""

OLD_NAMES = """
t.Tensor(2,3).shape
t.Tensor([1,2])
t.Tensor()
t.Tensor(3).shape
t.Tensor(3.5)
t.Tensor(np.array([1,2]))
t.FloatTensor([1,2])
t.LongTensor([1.5,2])
t.LongTensor(2,3).shape
t.LongTensor([1,2]).type()
t.ByteTensor([1])
t.BoolTensor([1,0])
t.FloatTensor
t.tensor([1]).type('torch.DoubleTensor')
t.tensor([1]).type(t.DoubleTensor)
t.tensor([1]).type(float)
t.tensor([1]).type('foo')
isinstance(t.zeros(1),t.FloatTensor)
x.new(2,3).shape
x.new([1,2])
x.type()
x.type(t.float64).dtype
"""

MORE = """
t.zeros(3,0).stride()
t.tensor([[1,2],[3,4]]).T.tolist()
t.get_default_device().type
t.preserve_format, t.strided, t.contiguous_format
x.layout
x.clone(memory_format=t.contiguous_format).stride()
t.set_default_dtype(t.float64); y=t.tensor([1.]); t.set_default_dtype(t.float32); y
t.zeros(2).type(t.LongTensor)
t.Tensor([1,2]).dtype
x.new_tensor([1,2]).requires_grad
t.as_tensor(np.ones(2)).dtype
t.asarray(np.ones(2),copy=True)
t.tensor(np.float32(2.5))
t.tensor([[True,False]])
t.vander(t.tensor([1.,2.,3.]),2)
t.linspace(0,1,7)
t.linspace(-3,5,100)
t.logspace(-2,2,9)
t.arange(0,1,0.1)
t.arange(0,100,0.7)
t.arange(-5,5,0.3,dtype=t.float64)
t.arange(0,10,3,dtype=t.float32)
t.linspace(0,10,7,dtype=t.int64)
t.full((2,2),3,dtype=t.float16)
"""

NUMBERS = """
t.arange(0, 100, 0.7, dtype=t.float32)
t.arange(0, 100, 0.7, dtype=t.float64)
t.arange(0, 100, 0.7, dtype=t.int32)
t.arange(-5, 5, 0.3, dtype=t.float32)
t.arange(-5, 5, 0.3, dtype=t.float64)
t.arange(-5, 5, 0.3, dtype=t.int32)
t.arange(5, -20, -0.37, dtype=t.float32)
t.arange(5, -20, -0.37, dtype=t.float64)
t.arange(5, -20, -0.37, dtype=t.int32)
t.linspace(0, 100, 7, dtype=t.float32)
t.linspace(0, 100, 7, dtype=t.float64)
t.linspace(0, 100, 7, dtype=t.int64)
t.linspace(-3, 5, 100, dtype=t.float32)
t.linspace(-3, 5, 100, dtype=t.float64)
t.linspace(-3, 5, 100, dtype=t.int64)
t.linspace(0.1, 300, 1001, dtype=t.float32)
t.linspace(0.1, 300, 1001, dtype=t.float64)
t.linspace(0.1, 300, 1001, dtype=t.int64)
t.linspace(5, -20, 2, dtype=t.float32)
t.linspace(5, -20, 2, dtype=t.float64)
t.linspace(5, -20, 2, dtype=t.int64)
"""


@pytest.mark.parametrize("line", VALUES.strip().splitlines())
def test_tensors_of_values(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", SIZES.strip().splitlines())
def test_tensors_of_a_size(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", OLD_NAMES.strip().splitlines())
def test_old_type_names(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", MORE.strip().splitlines())
def test_more_new_tensors(line: str) -> None:
    check_line(line, SETUP_2)


@pytest.mark.parametrize("line", NUMBERS.strip().splitlines())
def test_evenly_spaced_numbers(line: str) -> None:
    check_line(line, SETUP_2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("function", "arguments"), [("arange", (-5, 500, 0.3)), ("linspace", (-3, 5, 1001))]
)
def test_evenly_spaced_floats_are_bit_equal(
    function: str, arguments: tuple[float, ...], dtype: str
) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (
        getattr(t, function)(*arguments, dtype=getattr(t, dtype)).numpy()
        for t in (gradtape, torch)
    )
    assert ours.tobytes() == theirs.tobytes()


def test_a_list_of_arrays_warns_once() -> None:
    arrays = [np.ones(2), np.zeros(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradtape.tensor(arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradtape.tensor(arrays).tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_a_missing_device_says_what_to_install() -> None:
    if importlib.util.find_spec("cupy") is not None:
        pytest.skip("CuPy is installed")
    with pytest.raises(AssertionError, match="pip install cupy-cuda12x or"):
        gradtape.zeros(2, device="cuda")
