"""NumPy's arrays and numbers beside tensors, and arguments that C types spoil."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line

OPERATORS = """
t.ones(2,3)==np.ones((2,3),np.float32)
np.ones((2,3),np.float32)==t.ones(2,3)
t.ones(2,requires_grad=True)==np.ones(2)
t.ones(2)==np.array(['a','b'])
t.ones(2)==np.ones(3)
t.tensor([True,False])==np.array([1,2])
np.float64(3)/t.tensor([2.,4.])
'a'/t.ones(2)
[1]/t.ones(2)
"""

THROUGH_NUMPY = """
np.arange(1.,3)/t.tensor([2.,4.])
np.arange(1,3)/t.tensor([2,4])
np.array(2.)/t.ones(2)
np.greater_equal(t.tensor([1.,2.]),2)
np.isnan(t.tensor([1.,float('nan')]))
np.sin(t.tensor([1.,2.]))
"""

NUMBERS = """
t.full((2,),np.int64(3))
t.full((2,),np.float32(3))
t.full((2,),'a')
t.softmax(t.ones(2),np.int64(0))
t.nn.Linear(np.int64(2),np.int32(3)).weight.shape
t.arange(3).topk(2,True)
t.topk(t.arange(3),2,np.int64(0)).values
"""

WORDING = """
t.add(t.ones(2),np.ones(2))
t.eq(t.ones(2),np.ones(2))
t.maximum(t.ones(2),np.ones(2))
t.finfo(np.float32(1))
t.softmax(t.ones(2),np.float64(0))
t.cumulative_trapezoid(t.ones(3,3),dx=[1])
t.cumulative_trapezoid(t.ones(3,3),dx=np.ones(1))
t.cumulative_trapezoid(t.ones(3,3),t.ones(3),dx=2.)
t._foreach_add([t.ones(2)],[])
t._foreach_add([t.ones(2)],[t.ones(2)]*2)
t.ones(2).__dlpack__(stream=2)
"""

CLASS = """
class Wrapped:
    def __init__(self, inner):
        self.inner = inner
    def __dlpack__(self, **options):
        return self.inner.__dlpack__(**options)
    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()
"""
EXCHANGED = """
t.tensor(Wrapped(t.ones(2)))
t.as_tensor(Wrapped(t.ones(2)))
t.asarray(Wrapped(t.ones(2)))
x=t.ones(2);t.from_dlpack(Wrapped(x)).fill_(3);x
t.from_dlpack(t.ones(2).__dlpack__(stream=-1))
"""

NAMES = """
t._segment_reduce(t.ones(3,2),"sum",lengths=t.tensor([[1],[1],[2]]),axis=-1)
t._segment_reduce(t.arange(6.),'max',lengths=t.tensor([2,4]))
t.utils._pytree.arg_tree_leaves(1,[2,(3,)],a={'b':4})
m=t.nn.BatchNorm1d(3);t.func.functional_call(m,{},t.ones(2,3),strict=True)
m=t.nn.Linear(2,2);t.func.functional_call(m,{'z':1,'a':2},t.ones(2,2),strict=True)
m=t.nn.Identity();t.nn.utils.stateless._functional_call(m,{},t.ones(2))
"""


@pytest.mark.parametrize("line", (OPERATORS + NUMBERS + NAMES).strip().splitlines())
def test_numpy_meets_tensors_as_in_pytorch(line: str) -> None:
    check_line(line)


@pytest.mark.parametrize("line", THROUGH_NUMPY.strip().splitlines())
def test_what_numpy_computes_of_tensors_is_a_tensor(line: str) -> None:
    # PyTorch's __array_wrap__ is of an age that NumPy warns of.
    check_line(line, "import warnings; warnings.simplefilter('ignore')")


@pytest.mark.parametrize("line", EXCHANGED.strip().splitlines())
def test_what_offers_its_memory_becomes_a_tensor(line: str) -> None:
    check_line(line, CLASS)


@pytest.mark.parametrize("line", WORDING.strip().splitlines())
def test_types_made_in_c_are_named_with_their_module(line: str) -> None:
    check_line(line)


PIVOTS = "a=t.eye(2).repeat(3,1,1);LU,p=t.linalg.lu_factor(a);p[1]="


@pytest.mark.parametrize("call", ["linalg.lu_solve(LU,p,a)", "lu_unpack(LU,p)"])
@pytest.mark.parametrize("pivot", [-7, 0, 3, 10**6])
def test_rows_that_the_factors_do_not_have_are_refused(pivot: int, call: str) -> None:
    check_line(f"{PIVOTS}{pivot};t.{call}")


@pytest.mark.parametrize("kind", ["prod", "max", "min", "sum", "mean"])
@pytest.mark.parametrize("values", ["[2.,n,3]", "[n,n,3]", "[0.,n,3]", "[0.,0,n]"])
def test_segments_with_nan_have_pytorchs_gradients(values: str, kind: str) -> None:
    made = f"n=float('nan');x=t.tensor({values},requires_grad=True)"
    whole = f"t.segment_reduce(x,'{kind}',lengths=t.tensor([3]),initial=1)"
    check_line(f"{made};{whole}.sum().backward();x.grad")
