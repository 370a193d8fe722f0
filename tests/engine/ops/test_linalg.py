"""Linear algebra: what LAPACK leaves open, singular matrices, older functions."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape import linalg

from ..oracle import assert_close, assert_same, outcome

KINDS = ("float32", "float64", "complex64", "complex128")


def matrices(kind: str, *shape: int, seed: int = 0) -> Any:
    """Return random matrices, far from singular where they are square."""
    random = np.random.default_rng(seed)
    values = random.uniform(-2, 2, shape)
    if kind.startswith("complex"):
        values = values + 1j * random.uniform(-2, 2, shape)
    return (values + 3 * np.eye(shape[-2], shape[-1])).astype(kind)


def hermitian(kind: str, *shape: int) -> Any:
    some = matrices(kind, *shape)
    return np.asarray(some + some.conj().swapaxes(-1, -2), kind)


def tensor(torch: Any, array: Any) -> Any:
    return torch.from_numpy(array.copy())


def as_in_pytorch(program: Any) -> None:
    """Compare a program's result with PyTorch's; deprecations are another matter."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, yours = (outcome(program, m)[:2] for m in (gradtape, torch))
    assert str(mine) == str(yours)


# ---- vectors up to their signs -----------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1)])
def test_eigh_takes_matrices_apart(kind: str, shape: tuple[int, ...]):
    a = hermitian(kind, *shape)
    for triangle in "LU":
        values, vectors = linalg.eigh(tensor(gradtape, a), triangle)
        again = vectors @ (values.unsqueeze(-1) * vectors.mH)
        np.testing.assert_allclose(again.numpy(), a, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
def test_eig_takes_matrices_apart(kind: str, shape: tuple[int, ...]):
    a = matrices(kind, *shape)
    values, vectors = linalg.eig(tensor(gradtape, a))
    assert values.is_complex()
    assert vectors.is_complex()
    again = vectors @ (values.unsqueeze(-1) * linalg.inv(vectors))
    np.testing.assert_allclose(again.numpy(), a, atol=1e-3)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 4)])
def test_svd_takes_matrices_apart(kind: str, shape: tuple[int, ...], full: bool):
    a = matrices(kind, *shape)
    u, s, vh = linalg.svd(tensor(gradtape, a), full)
    k = s.shape[-1]
    again = (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]
    np.testing.assert_allclose(again.numpy(), a, atol=1e-4)


def test_layouts_of_factors_are_those_of_pytorch():
    def program(torch: Any) -> Any:
        wide, square = (tensor(torch, matrices("float64", 2, 3, n)) for n in (4, 3))
        symmetric = tensor(torch, hermitian("float64", 2, 3, 3))
        results = [
            torch.linalg.svd(wide),
            torch.linalg.svd(wide, False),
            torch.svd(wide),
            torch.linalg.eigh(symmetric),
            torch.linalg.eig(square),
            torch.linalg.qr(wide),
            torch.linalg.qr(square, "complete"),
            torch.geqrf(square),
            torch.linalg.ldl_factor(symmetric),
        ]
        return [
            (type(r).__name__, [(list(t.shape), t.stride(), str(t.dtype)) for t in r])
            for r in results
        ]

    as_in_pytorch(program)


# A loss that signs and phases leave alone, of each function that has some.
LOSSES: dict[str, Any] = {
    "eigh": lambda torch, a: [
        (v.abs() ** 2).sum((-2, -1)) + (values**3).sum(-1)
        for values, v in [torch.linalg.eigh(a + a.mH)]
    ],
    "eigh_projector": lambda torch, a: [
        (v[..., :1] @ v[..., :1].mH).real for _, v in [torch.linalg.eigh(a + a.mH)]
    ],
    "eig": lambda torch, a: [
        v.abs().sum(-1) * values.abs() for values, v in [torch.linalg.eig(a)]
    ],
    "svd": lambda torch, a: [
        (u[..., :1] @ vh[..., :1, :]).abs() * s[..., :1, None]
        for u, s, vh in [torch.linalg.svd(a, False)]
    ],
    "svd_full": lambda torch, a: [
        u[..., :, :2].abs() @ vh[..., :2, :].abs() for u, _, vh in [torch.linalg.svd(a)]
    ],
    "cholesky": lambda torch, a: [torch.linalg.cholesky(a @ a.mH)],
    "cholesky_upper": lambda torch, a: [torch.linalg.cholesky(a @ a.mH, upper=True)],
    "cholesky_solve": lambda torch, a: [torch.cholesky_solve(a, a.tril())],
    "lu_factor": lambda torch, a: [torch.linalg.lu_factor(a)[0]],
    "eigvalsh": lambda torch, a: [torch.linalg.eigvalsh(a + a.mH)],
}


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_factors_are_those_of_pytorch(name: str, kind: str):
    def program(torch: Any) -> Any:
        a = tensor(torch, matrices(kind, 2, 3, 3)).requires_grad_()
        (loss,) = LOSSES[name](torch, a)
        (first,) = torch.autograd.grad(loss.abs().sum(), a, create_graph=True)
        (second,) = torch.autograd.grad((first.abs() ** 2).sum(), a)
        return [torch.view_as_real(g + 0j).tolist() for g in (loss, first, second)]

    assert_same(program, rtol=1e-4)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_factors_are_slopes(name: str, kind: str):
    a = tensor(gradtape, matrices(kind, 3, 3)).requires_grad_()
    random = np.random.default_rng(1)
    step = matrices(kind, 3, 3, seed=2) * 1e-6

    def loss(x: Any) -> Any:
        (found,) = LOSSES[name](gradtape, x)
        return (found.abs() * weights).sum()

    (shown,) = LOSSES[name](gradtape, a.detach())
    weights = gradtape.from_numpy(random.uniform(0.5, 1.5, tuple(shown.shape)))
    (grad,) = gradtape.autograd.grad(loss(a), a)
    ends = [loss(tensor(gradtape, a.detach().numpy() + s * step)) for s in (1, -1)]
    slope = (ends[0] - ends[1]).item() / 2
    along = (grad.conj() * tensor(gradtape, step)).sum()
    expected = (along.real if kind == "complex128" else along).item()
    assert slope == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["eigh", "eig", "svd"])
def test_losses_that_depend_on_phases_are_refused(name: str):
    def program(torch: Any) -> Any:
        a = tensor(torch, hermitian("complex128", 3, 3)).requires_grad_()
        vectors = getattr(torch.linalg, name)(a)[0 if name == "svd" else 1]
        vectors[0].imag.sum().backward()

    assert_same(program)


# ---- matrices that do not allow it -------------------------------------------------

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
INDEFINITE = [[1.0, 2.0], [2.0, 1.0]]
BATCH = [[[2.0, 1.0], [1.0, 3.0]], SINGULAR]


@pytest.mark.parametrize("values", [SINGULAR, BATCH], ids=["one", "batch"])
@pytest.mark.parametrize(
    "call",
    [
        lambda torch, a: torch.linalg.inv(a),
        lambda torch, a: torch.linalg.inv_ex(a, check_errors=True),
        lambda torch, a: torch.inverse(a),
        lambda torch, a: torch.linalg.solve(a, a),
        lambda torch, a: torch.linalg.solve_ex(a, a, check_errors=True),
        lambda torch, a: torch.linalg.lu_factor(a),
        lambda torch, a: torch.linalg.lu_factor_ex(a, check_errors=True),
        lambda torch, a: torch.linalg.matrix_power(a, -2),
        lambda torch, a: torch.linalg.cholesky(a),
        lambda torch, a: torch.linalg.cholesky_ex(a, check_errors=True),
        lambda torch, a: torch.cholesky_inverse(a * 0),
        lambda torch, a: (
            torch.linalg.lstsq(a.repeat(2, 1), a.repeat(2, 1)).rank
            if a.dim() == 2
            else torch.linalg.cholesky(a)
        ),
    ],
)
def test_singular_matrices_are_refused_as_in_pytorch(call: Any, values: Any):
    assert_same(lambda torch: call(torch, torch.tensor(values)))


def test_linalg_error_is_a_runtime_error():
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.inv(gradtape.tensor(SINGULAR))
    assert issubclass(linalg.LinAlgError, RuntimeError)


@pytest.mark.parametrize("values", [SINGULAR, INDEFINITE, BATCH])
def test_unchecked_forms_say_where_it_failed(values: Any):
    def program(torch: Any) -> Any:
        a = torch.tensor(values)
        return [
            torch.linalg.inv_ex(a).info,
            torch.linalg.cholesky_ex(a).info,
            torch.linalg.solve_ex(a, a).info,
            torch.linalg.lu_factor_ex(a),
            torch.linalg.det(a).abs(),
            torch.linalg.matrix_rank(a),
            torch.linalg.cond(a, 1) > 1e6,
        ]

    assert_same(program)


def test_nan_is_refused_where_pytorch_refuses_it():
    for name in ("svd", "svdvals", "eig", "cholesky", "pinv", "matrix_rank", "cond"):

        def program(torch: Any, name: str = name) -> Any:
            values = torch.tensor([[float("nan"), 1.0], [1.0, 2.0]])
            return getattr(torch.linalg, name)(values)

        assert_same(program)


def test_det_of_singular_matrices_has_all_its_derivatives():
    def program(torch: Any) -> Any:
        a = torch.tensor([[1.0, 2.0, 1.0], [2.0, 4.0, 0.0], [3.0, 6.0, 1.0]])
        a = a.double().requires_grad_()
        (first,) = torch.autograd.grad(torch.det(a), a, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), a)
        return first.tolist(), second.tolist()

    assert_same(program, rtol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, a: torch.linalg.qr(a, "r")[1].sum().backward(),
        lambda torch, a: torch.linalg.qr(a, "complete")[0].sum().backward(),
        lambda torch, a: torch.geqrf(a)[0].sum().backward(),
        lambda torch, a: torch.linalg.ldl_factor(a[:2])[0].sum().backward(),
        lambda torch, a: torch.linalg.qr(a, "x"),
        lambda torch, a: torch.linalg.svd(a, driver="gesvd"),
        lambda torch, a: torch.linalg.eigh(a[:2], "x"),
        lambda torch, a: torch.linalg.lstsq(a, a, driver="x"),
        lambda torch, a: torch.linalg.lu(a, pivot=False),
        lambda torch, a: torch.linalg.inv(a[:2], out=torch.empty(2, 2)),
        lambda torch, a: torch.linalg.matrix_power(a[:2], 2.5),
        lambda torch, a: torch.linalg.pinv(3),
        lambda torch, a: torch.linalg.tensorinv(a, 0),
        lambda torch, a: torch.linalg.tensorsolve(a, a),
        lambda torch, a: torch.linalg.vecdot(a, a[0, :1].expand(3)),
        lambda torch, a: torch.lu_unpack(a, torch.ones(2)),
        lambda torch, a: torch.cdist(a, a[:, :1]),
        lambda torch, a: torch.cdist(a, a, -1),
        lambda torch, a: torch.pdist(a[0]),
        lambda torch, a: torch.cov(a[None]),
        lambda torch, a: torch.renorm(a, -1, 0, 1),
        lambda torch, a: (a * 1)[0].addmm_(a, a.mT),
        lambda torch, a: torch.ger(a, a),
    ],
)
def test_bad_calls_are_refused_as_in_pytorch(call: Any):
    def program(torch: Any) -> Any:
        a = torch.tensor([[3.0, 1.0], [1.0, 2.0], [0.0, 1.0]], requires_grad=True)
        return call(torch, a)

    as_in_pytorch(program)


# ---- older functions ---------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, a, b: torch.cholesky(a @ a.mT),
        lambda torch, a, b: torch.cholesky(a @ a.mT, upper=True),
        lambda torch, a, b: torch.qr(a),
        lambda torch, a, b: a.qr(some=False),
        lambda torch, a, b: torch.lu(a),
        lambda torch, a, b: a.lu(get_infos=True),
        lambda torch, a, b: b.lu_solve(*torch.linalg.lu_factor(a)),
        lambda torch, a, b: torch.triangular_solve(b, a),
        lambda torch, a, b: b.triangular_solve(a, upper=False, transpose=True),
        lambda torch, a, b: b.triangular_solve(a, unitriangular=True),
        lambda torch, a, b: torch.chain_matmul(a, b, b.mT),
        lambda torch, a, b: torch.cross(a, a),
        lambda torch, a, b: torch.svd(a, compute_uv=False),
        lambda torch, a, b: a.pinverse(),
        lambda torch, a, b: a.inverse(),
        lambda torch, a, b: a.matrix_power(3),
        lambda torch, a, b: a.norm("nuc"),
        lambda torch, a, b: a.norm("fro", dim=1),
        lambda torch, a, b: torch.frobenius_norm(a, dim=(0, 1)),
        lambda torch, a, b: a.det() * a.logdet() * a.slogdet()[1],
        lambda torch, a, b: torch.ger(b[:, 0], b[:, 1]),
        lambda torch, a, b: (a * 1).addmm_(b, b.mT, beta=2, alpha=3),
        lambda torch, a, b: (b[:, 0] * 1).addmv_(a, b[:, 1]),
        lambda torch, a, b: (a * 1).addr_(b[:, 0], b[:, 1]),
        lambda torch, a, b: (a * 1).addbmm_(b[None], b.mT[None]),
        lambda torch, a, b: (a[None] * 1).baddbmm_(b[None], b.mT[None]),
        lambda torch, a, b: (a * 1).renorm_(2, 0, 1.0),
    ],
)
def test_older_functions_are_those_of_pytorch(call: Any):
    def program(torch: Any) -> Any:
        a = tensor(torch, matrices("float64", 3, 3)).requires_grad_()
        b = tensor(torch, matrices("float64", 3, 2, seed=1)).requires_grad_()
        results = call(torch, a, b)
        name = type(results).__name__
        results = results if isinstance(results, tuple) else (results,)
        total = sum((r**2).sum() for r in results if r.requires_grad)
        grads = torch.autograd.grad(total, (a, b), allow_unused=True)
        return name, list(results), [None if g is None else g.tolist() for g in grads]

    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, yours = (outcome(program, m)[:2] for m in (gradtape, torch))
        assert_close(mine, yours, 1e-5, "result")


def test_named_results_have_the_names_of_pytorch():
    def program(torch: Any) -> Any:
        a = torch.eye(2) * 2
        return [
            torch.linalg.qr(a).R,
            torch.linalg.lu(a).U,
            torch.linalg.slogdet(a).logabsdet,
            torch.linalg.eigh(a).eigenvalues,
            torch.linalg.svd(a).S,
            torch.linalg.lstsq(a, a).solution,
            torch.linalg.lu_factor(a).pivots,
            torch.svd(a).S,
            str(torch.linalg.slogdet(a)),
        ]

    assert_same(program)


def test_out_takes_results_of_several_outputs():
    def program(torch: Any) -> Any:
        a = tensor(torch, matrices("float64", 3, 3))
        out = [torch.empty(0, dtype=torch.float64) for _ in range(2)]
        found = torch.linalg.slogdet(a, out=tuple(out))
        factors = torch.linalg.qr(a, out=(out[0].new_empty(0), out[0].new_empty(0)))
        return found[0] is out[0], list(found), list(factors)

    assert_same(program)


@pytest.mark.parametrize(
    "kinds", list(itertools.product(("float32", "float64"), repeat=3))
)
def test_addmm_names_the_matrices_whose_dtypes_differ(kinds: tuple[str, ...]) -> None:
    def program(torch: Any) -> Any:
        bias, left, right = (
            torch.ones(2, 2, dtype=getattr(torch, kind)) for kind in kinds
        )
        return torch.addmm(bias, left, right)

    as_in_pytorch(program)
