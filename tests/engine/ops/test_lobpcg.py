"""torch.lobpcg: pairs up to signs, the steps a tracker sees, slopes and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape

from .._engines import needs_torch
from ..oracle import assert_equal, outcome

_random = np.random.default_rng(3)
_raw = _random.standard_normal((2, 15, 15))
MATRICES = _raw @ _raw.swapaxes(-1, -2)
B = _raw[0] @ _raw[0].T + 15 * np.eye(15)
X = _random.standard_normal((15, 3))


def given(torch: Any, array: Any) -> Any:
    return torch.from_numpy(np.array(array))


def one(torch: Any) -> Any:
    return given(torch, MATRICES[0])


CALLS: dict[str, Callable[[Any], Any]] = {
    "one pair": lambda t: t.lobpcg(one(t)),
    "smallest": lambda t: t.lobpcg(one(t), 3, largest=False),
    "float32": lambda t: t.lobpcg(one(t).float(), 2),
    "two steps": lambda t: t.lobpcg(one(t), 3, niter=2),
    "basic": lambda t: t.lobpcg(one(t), 3, method="basic"),
    "basic, three steps": lambda t: t.lobpcg(one(t), 2, niter=3, method="basic"),
    "B": lambda t: t.lobpcg(one(t), 3, given(t, B)),
    "B, basic": lambda t: t.lobpcg(one(t), 3, given(t, B), method="basic"),
    "preconditioned": lambda t: t.lobpcg(
        one(t), 2, iK=t.inverse(one(t)), largest=False, method="basic"
    ),
    "guess": lambda t: t.lobpcg(one(t), 2, X=given(t, X)),
    "batch": lambda t: t.lobpcg(given(t, MATRICES), 2, n=4),
    "empty batch": lambda t: t.lobpcg(given(t, MATRICES)[:0], 2),
    "sparse": lambda t: t.lobpcg(one(t).to_sparse(), 2, given(t, B).to_sparse()),
    "dropping": lambda t: t.lobpcg(one(t), 2, ortho_bparams={"ortho_use_drop": True}),
    "history": lambda t: t.lobpcg(one(t).requires_grad_(), 2),
}


def seeded(program: Callable[[Any], Any], torch: Any) -> Any:
    torch.manual_seed(0)
    return program(torch)


@needs_torch
@pytest.mark.parametrize("name", CALLS)
def test_pairs_are_pytorchs_up_to_signs(name: str):
    torch = pytest.importorskip("torch")
    ours, theirs = (seeded(CALLS[name], each) for each in (gradtape, torch))
    for mine, yours in zip(ours, theirs, strict=True):
        facts = [(str(t.dtype), tuple(t.shape), t.stride()) for t in (mine, yours)]
        assert facts[0] == facts[1]
        assert mine.requires_grad == yours.requires_grad
        arrays = [abs(t.detach().numpy()) for t in (mine, yours)]
        np.testing.assert_allclose(*arrays, rtol=1e-4, atol=1e-5)


def test_pairs_are_pairs():
    a = given(gradtape, MATRICES)
    values, vectors = gradtape.lobpcg(a, 2)
    assert gradtape.allclose(a @ vectors, vectors * values.unsqueeze(-2), atol=1e-4)


@needs_torch
@pytest.mark.parametrize("method", ["ortho", "basic"])
def test_a_tracker_sees_the_same_steps_and_may_stop_them(method: str):
    def program(torch: Any) -> Any:
        torch.manual_seed(1)
        seen: list[Any] = []

        def tracker(worker: Any) -> None:
            counts = (
                worker.ivars,
                worker.iparams,
                worker.bparams,
                sorted(worker.fvars),
            )
            seen.append((str(counts), str(worker).count("\n  "), len(worker.tvars)))
            if len(seen) == 7:
                worker.bvars["force_stop"] = True

        torch.lobpcg(given(torch, MATRICES), 2, tracker=tracker, method=method)
        return [line[0] for line in seen], len(seen)

    assert_equal(program)


# ---- slopes ------------------------------------------------------------------------


def _sum_of_squares(torch: Any, largest: bool, k: int) -> Any:
    a = one(torch).requires_grad_()
    torch.manual_seed(0)
    values, vectors = torch.lobpcg(a, k, largest=largest, tol=1e-12, niter=100)
    weights = torch.arange(15.0 * k, dtype=torch.float64).view(15, k)
    return torch.autograd.grad((vectors**2 * weights).sum() + values.prod(), a)[0]


@needs_torch
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_gradients_are_pytorchs(largest: bool, k: int):
    torch = pytest.importorskip("torch")
    ours, theirs = (_sum_of_squares(each, largest, k) for each in (gradtape, torch))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("largest", [True, False])
def test_gradients_are_the_slopes_twice(largest: bool):
    a = given(gradtape, MATRICES[:, :6, :6]).requires_grad_()

    def pairs(a: Any) -> Any:
        gradtape.manual_seed(0)
        values, vectors = gradtape.lobpcg(a, 2, largest=largest, tol=1e-13, niter=100)
        return values, vectors**2  # signs are nobody's

    assert gradtape.autograd.gradcheck(pairs, a)
    assert gradtape.autograd.gradgradcheck(pairs, a, atol=1e-4)


# ---- refusals ----------------------------------------------------------------------


def _backward(pairs: Any) -> Any:
    return pairs[0].sum().backward()


REFUSED: dict[str, Callable[[Any], Any]] = {
    "not square": lambda t: t.lobpcg(one(t)[:3]),
    "B of another shape": lambda t: t.lobpcg(one(t), 1, given(t, MATRICES)),
    "too few rows": lambda t: t.lobpcg(one(t), 6),
    "guess of another size": lambda t: t.lobpcg(one(t), 1, X=given(t, X)[1:]),
    "guesses too few": lambda t: t.lobpcg(given(t, MATRICES), 1, X=given(t, X)),
    "guesses of another size": lambda t: t.lobpcg(
        given(t, MATRICES), 1, X=given(t, _raw)[:, 1:, :2]
    ),
    "guess of zeros": lambda t: t.lobpcg(one(t), 1, X=given(t, 0 * X)),
    "int": lambda t: t.lobpcg(one(t).int()),
    "half": lambda t: t.lobpcg(one(t).half()),
    "complex": lambda t: t.lobpcg(one(t).to(t.complex128)),
    "slope with B": lambda t: _backward(
        t.lobpcg(one(t).requires_grad_(), 1, given(t, B))
    ),
    "slope of sparse": lambda t: _backward(
        t.lobpcg(one(t).to_sparse().requires_grad_(), 1)
    ),
}


@needs_torch
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(name: str):
    torch = pytest.importorskip("torch")
    ours, theirs = (outcome(REFUSED[name], each) for each in (gradtape, torch))
    assert ours == theirs
    assert theirs[0] == "raised"
