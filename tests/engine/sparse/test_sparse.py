"""Sparse tensors beside PyTorch's: making, reading, computing, printing, refusing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ..oracle import assert_same
from ._sparse_programs import MATRICES, repeated, settle, unordered

settle()


# ---- making them -------------------------------------------------------------------


MAKING: dict[str, Callable[[Any], Any]] = {
    "no size": lambda torch: torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0]),
    "ints": lambda torch: torch.sparse_coo_tensor([[0, 1], [2, 0]], [3, 4], (2, 3)),
    "one dimension": lambda torch: torch.sparse_coo_tensor([[0, 1]], [3, 4], (3,)),
    "size alone": lambda torch: torch.sparse_coo_tensor((2, 3)),
    "size by name": lambda torch: torch.sparse_coo_tensor(size=(2, 3)),
    "zeros": lambda torch: torch.zeros(2, 3, layout=torch.sparse_coo),
    "empty": lambda torch: torch.empty(2, 3, layout=torch.sparse_coo, dtype=torch.int),
    "nothing kept": lambda torch: torch.sparse_coo_tensor(
        torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (2, 3)
    ),
    "no rows kept": lambda torch: torch.sparse_coo_tensor(
        torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, 3), (2, 3)
    ),
    "float indices": lambda torch: torch.sparse_coo_tensor(
        torch.tensor([[0.0, 1.0]]), torch.tensor([1.0, 2.0]), (3,)
    ),
    "a number": lambda torch: torch.sparse_coo_tensor([[1]], 5.0, (3,)),
    "no dimensions": lambda torch: torch.sparse_coo_tensor(
        torch.zeros(0, 2, dtype=torch.int64), torch.tensor([5.0, 6.0]), ()
    ).to_dense(),
    "dtype": lambda torch: torch.sparse_coo_tensor(
        [[1]], [5.0], (3,), dtype=torch.float16
    ),
    "declared coalesced": lambda torch: torch.sparse_coo_tensor(
        [[0, 1]], [1.0, 2.0], (3,), is_coalesced=True
    ),
    "complex sums": lambda torch: torch.sparse_coo_tensor(
        [[1, 1]], [5.0 + 1j, 2j], (3,)
    ).coalesce(),
    "bool sums": lambda torch: torch.sparse_coo_tensor(
        [[1, 1]], [True, True], (3,)
    ).coalesce(),
    "int sums": lambda torch: torch.sparse_coo_tensor(
        [[1, 1]], torch.tensor([1, 2], dtype=torch.int32), (3,)
    ).coalesce(),
    "shared values": lambda torch: [
        (torch.sparse_coo_tensor([[0, 1]], values, (3,)), values.mul_(2))
        for values in [torch.ones(2)]
    ],
    "of a dense matrix": lambda torch: torch.tensor([[0, 1], [2, 0]]).to_sparse(),
    "of a dense bool matrix": lambda torch: torch.eye(2).bool().to_sparse(),
    "of dense rows": lambda torch: torch.tensor([[0, 0], [2, 0]]).to_sparse(1),
    "of NaN": lambda torch: torch.tensor([0.0, float("nan"), -0.0]).to_sparse(),
    "of a number": lambda torch: torch.tensor(3.0).to_sparse(),
    "of zero": lambda torch: torch.tensor(0.0).to_sparse(),
    "like zeros": lambda torch: torch.zeros_like(repeated(torch)),
    "four dimensions": lambda torch: torch.sparse_coo_tensor(
        [[0, 1], [0, 1], [1, 0]], torch.ones(2, 2), (2, 2, 2, 2)
    ).to_dense(),
}

REFUSED_MAKING: dict[str, Callable[[Any], Any]] = {
    "negative index": lambda torch: torch.sparse_coo_tensor([[-1, 1]], [1.0, 2.0]),
    "checked negative": lambda torch: torch.sparse_coo_tensor(
        [[-1, 1]], [1.0, 2.0], (3,), check_invariants=True
    ),
    "checked too large": lambda torch: torch.sparse_coo_tensor(
        [[5, 1]], [1.0, 2.0], (3,), check_invariants=True
    ),
    "three values": lambda torch: torch.sparse_coo_tensor([[0, 1]], [1, 2, 3], (3,)),
    "two sizes": lambda torch: torch.sparse_coo_tensor([[0, 1]], [1, 2], (3, 3)),
    "one size": lambda torch: torch.sparse_coo_tensor([[0], [1]], [1], (3,)),
    "other rows": lambda torch: torch.sparse_coo_tensor(
        [[0, 1]], torch.ones(2, 4), (3, 3)
    ),
    "negative size": lambda torch: torch.sparse_coo_tensor([[0, 1]], [1, 2], (-3,)),
    "a number of rows": lambda torch: torch.sparse_coo_tensor(2, 3),
    "nothing": lambda torch: torch.sparse_coo_tensor(),
    "gradients of ints": lambda torch: torch.sparse_coo_tensor(
        [[0, 1]], [1, 2], (3,), requires_grad=True
    ),
    "no dimension": lambda torch: torch.ones(2, 2).to_sparse(0),
    "three dimensions": lambda torch: torch.ones(2, 2).to_sparse(3),
}


@pytest.mark.parametrize("name", [*MAKING, *REFUSED_MAKING])
def test_making_one_follows_pytorch(name: str) -> None:
    assert_same((MAKING | REFUSED_MAKING)[name])


def test_the_switch_of_checks_can_be_nested_and_decorates() -> None:
    def program(torch: Any) -> Any:
        checks = torch.sparse.check_sparse_tensor_invariants
        states = [checks.is_enabled()]
        with checks(), checks(enable=False):
            states.append(checks.is_enabled())
            torch.sparse_coo_tensor([[5]], [1.0], (3,))
        checks.enable()
        states.append(checks.is_enabled())
        checks.disable()
        states.append(checks()(checks.is_enabled)())
        return states

    assert_same(program)

    def refused(torch: Any) -> Any:
        with torch.sparse.check_sparse_tensor_invariants() as entered:
            assert entered is None
            return torch.sparse_coo_tensor([[5]], [1.0], (3,))

    assert_same(refused)


# ---- reading and computing ---------------------------------------------------------


USES: dict[str, Callable[[Any, Any], Any]] = {
    "parts": lambda torch, x: (x._indices(), x._values(), x._nnz(), x.is_coalesced()),
    "coalesced": lambda torch, x: x.coalesce(),
    "coalesced once": lambda torch, x: x.coalesce().coalesce().is_coalesced(),
    "dimensions": lambda torch, x: (x.sparse_dim(), x.dense_dim(), x.dim(), len(x)),
    "facts": lambda torch, x: (x.is_sparse, str(x.layout), x.numel(), x.type()),
    "dense": lambda torch, x: x.to_dense(),
    "there and back": lambda torch, x: x.to_dense().to_sparse(),
    "its own sparse": lambda torch, x: x.to_sparse(),
    "plus itself": lambda torch, x: x + x,
    "plus coalesced": lambda torch, x: x + x.coalesce(),
    "plus twice": lambda torch, x: torch.add(x, x, alpha=2),
    "minus": lambda torch, x: x - x * 2,
    "dense plus": lambda torch, x: torch.ones(x.shape) + x,
    "dense minus": lambda torch, x: torch.ones(x.shape) - x,
    "dense plus half": lambda torch, x: torch.ones(x.shape).add(x, alpha=-0.5),
    "added to dense": lambda torch, x: torch.ones(x.shape).add_(x, alpha=-0.5),
    "added in place": lambda torch, x: x.add_(x),
    "taken off in place": lambda torch, x: x.sub_(x),
    "times 2": lambda torch, x: x * 2,
    "2 times": lambda torch, x: 2 * x,
    "times a tensor": lambda torch, x: x * torch.tensor(2.0),
    "times 2 in place": lambda torch, x: x.mul_(2),
    "halved": lambda torch, x: x / 2,
    "halved in place": lambda torch, x: x.div_(2),
    "negated": lambda torch, x: -x,
    "times itself": lambda torch, x: x * x,
    "times dense": lambda torch, x: x * torch.ones(x.shape).cumsum(0),
    "dense times": lambda torch, x: torch.ones(x.shape).cumsum(0) * x,
    "squared": lambda torch, x: x.pow(2),
    "root": lambda torch, x: x.sqrt(),
    "size": lambda torch, x: x.abs(),
    "positive part": lambda torch, x: x.relu(),
    "sine": lambda torch, x: x.sin(),
    "total": lambda torch, x: x.sum(),
    "norm": lambda torch, x: x.norm(),
    "norm of order 1": lambda torch, x: x.norm(1),
    "clone": lambda torch, x: x.clone(),
    "detached": lambda torch, x: (x.detach().mul_(2), x),
    "data": lambda torch, x: x.data,
    "copied": lambda torch, x: x.copy_(x * 3),
    "zeroed": lambda torch, x: x.zero_(),
    "double": lambda torch, x: x.double(),
    "long": lambda torch, x: x.long(),
    "first row": lambda torch, x: x[0].to_dense().clone(),
    "joined": lambda torch, x: torch.cat([x, x]),
    "stacked": lambda torch, x: torch.stack([x, x]),
    "masked": lambda torch, x: torch.ones(x.shape).sparse_mask(x.coalesce()),
    "sparse total": lambda torch, x: torch.sparse.sum(x),
    "sparse column sums": lambda torch, x: torch.sparse.sum(x, 0),
    "sparse row sums": lambda torch, x: torch.sparse.sum(x, 1),
    "sparse total of doubles": lambda torch, x: torch.sparse.sum(x, dtype=torch.double),
    "softmax": lambda torch, x: torch.sparse.softmax(x, 1),
    "softmax of columns": lambda torch, x: torch.sparse.softmax(x, 0),
    "log softmax": lambda torch, x: torch.sparse.log_softmax(x, 1, dtype=torch.double),
    "version": lambda torch, x: (x._version, x.mul_(2)._version),
    "deep copy": lambda torch, x: copy.deepcopy(x),
    "shallow copy": lambda torch, x: copy.copy(x),
    "pickled": lambda torch, x: pickle.loads(pickle.dumps(x)),
    "repr": lambda torch, x: repr(x),
    "repr of coalesced": lambda torch, x: repr(x.coalesce()),
    "repr of doubles": lambda torch, x: repr(x.double()),
    "repr of ints": lambda torch, x: repr(x.long()),
    "repr of complex": lambda torch, x: repr(x.to(torch.complex64)),
    "repr of a leaf": lambda torch, x: repr(x.requires_grad_()),
    "repr on two lines": lambda torch, x: repr(
        torch.sparse_coo_tensor(size=(300, 300)).double().requires_grad_()
    ),
    "repr with history": lambda torch, x: repr(x.requires_grad_() * 2),
}

REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "indices": lambda torch, x: x.indices(),
    "values": lambda torch, x: x.values().clone(),
    "plus dense": lambda torch, x: x + torch.ones(x.shape),
    "minus dense": lambda torch, x: x - torch.ones(x.shape),
    "plus 1": lambda torch, x: x + 1,
    "dense of another size": lambda torch, x: torch.ones(7, 7) + x,
    "another size": lambda torch, x: x + torch.sparse_coo_tensor((4, 4)),
    "dense in another dtype": lambda torch, x: x.to_dense(torch.float64),
    "dense indices": lambda torch, x: x.to_dense().indices(),
    "dense values": lambda torch, x: x.to_dense().values(),
    "dense raw indices": lambda torch, x: x.to_dense()._indices(),
    "dense raw values": lambda torch, x: x.to_dense()._values(),
    "dense count": lambda torch, x: x.to_dense()._nnz(),
    "dense coalesced": lambda torch, x: x.to_dense().coalesce(),
    "dense is coalesced": lambda torch, x: x.to_dense().is_coalesced(),
    "filled": lambda torch, x: x.fill_(3.0),
    "written": lambda torch, x: x.__setitem__(0, 1.0),
    "dense into sparse": lambda torch, x: x.copy_(torch.ones(x.shape)),
    "sparse into dense": lambda torch, x: torch.ones(x.shape).copy_(x),
    "to NumPy": lambda torch, x: x.numpy(),
    "expanded": lambda torch, x: x.expand(2, *x.shape),
    "reshaped": lambda torch, x: x.reshape(-1),
    "joined with dense": lambda torch, x: torch.cat([x, x.to_dense()]),
    "other dimension": lambda torch, x: torch.sparse.softmax(x, 2),
    "leaf in place": lambda torch, x: x.requires_grad_().mul_(2),
    "ones like": lambda torch, x: torch.ones_like(x),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("use", [*USES, *REFUSED])
def test_using_one_follows_pytorch(matrix: str, use: str) -> None:
    assert_same(lambda torch: (USES | REFUSED)[use](torch, MATRICES[matrix](torch)))


MATRIX_USES: dict[str, Callable[[Any, Any], Any]] = {
    "transposed": lambda torch, x: x.t(),
    "dimensions swapped": lambda torch, x: x.transpose(0, 1),
    "permuted": lambda torch, x: x.permute(1, 0),
    "mm": lambda torch, x: torch.mm(x, torch.ones(3, 2)),
    "sparse mm": lambda torch, x: torch.sparse.mm(x, torch.ones(3, 2)),
    "spmm": lambda torch, x: torch.spmm(x, torch.ones(3, 2)),
    "dsmm": lambda torch, x: torch.dsmm(x, torch.ones(3, 2)),
    "operator": lambda torch, x: x @ torch.ones(3, 2),
    "vector": lambda torch, x: x @ torch.tensor([1.0, 2.0, 3.0]),
    "mv": lambda torch, x: x.mv(torch.tensor([1.0, 2.0, 3.0])),
    "dense first": lambda torch, x: torch.ones(2, 2) @ x,
    "addmm": lambda torch, x: torch.sparse.addmm(
        torch.ones(2, 2), x, torch.ones(3, 2), beta=2, alpha=0.5
    ),
    "other size": lambda torch, x: torch.sparse.mm(x, torch.ones(7, 2)),
    "rows of a matrix": lambda torch, x: torch.sparse.mm(
        MATRICES["rows"](torch), torch.ones(2, 2)
    ),
    "rows transposed": lambda torch, x: MATRICES["rows"](torch).t(),
    "rows permuted": lambda torch, x: MATRICES["rows"](torch).permute(1, 0),
    "rows swapped": lambda torch, x: MATRICES["rows"](torch).transpose(0, 1),
}


@pytest.mark.parametrize("matrix", ["repeated", "unordered"])
@pytest.mark.parametrize("use", MATRIX_USES)
def test_products_and_transposes_follow_pytorch(matrix: str, use: str) -> None:
    assert_same(lambda torch: MATRIX_USES[use](torch, MATRICES[matrix](torch)))


def test_a_detached_tensor_shares_its_values() -> None:
    def program(torch: Any) -> Any:
        x = unordered(torch)
        x.detach()._values().mul_(2)
        return x

    assert_same(program)


@pytest.mark.parametrize("size", [1000, 2000])
def test_long_ones_are_printed_in_part(size: int) -> None:
    def program(torch: Any) -> str:
        at = torch.arange(2 * size).reshape(2, size)
        shape = (size, 2 * size)
        return repr(torch.sparse_coo_tensor(at, torch.arange(float(size)), shape))

    assert_same(program)


def test_parameters_and_modules_are_printed() -> None:
    def program(torch: Any) -> Any:
        layers = torch.nn.Embedding(3, 2, sparse=True), torch.nn.EmbeddingBag(3, 2)
        return repr(torch.nn.Parameter(repeated(torch))), repr(layers)

    assert_same(program)
