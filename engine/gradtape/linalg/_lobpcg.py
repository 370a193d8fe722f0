"""``torch.lobpcg``: a few eigenpairs of a large symmetric matrix, and their slopes."""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch
# pyright: reportConstantRedefinition=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._dispatch.declare import FUNCTIONS, public
from .._dtypes import dtype, float16, float32, float64
from .._tensor.tensor import Tensor
from ..autograd import Function
from ..ops.linalg.solve import solve
from ..ops.rearrange.cat import cat, stack
from ._lobpcg_iteration import LOBPCG

_UNSUPPORTED = (
    "lobpcg.backward does not support {what} input yet. "
    "Note that lobpcg.forward does though."
)
_Params = tuple[dict[str, int], dict[str, float], dict[str, bool]]
_ROUNDING = {float32: 1.2e-07, float64: 2.23e-16}


class _Request(NamedTuple):
    """What is asked for beside the matrices."""

    k: int | None
    X: Tensor | None
    n: int | None
    iK: Tensor | None  # noqa: N815
    niter: int
    tol: float | None
    largest: bool
    method: str
    tracker: Callable[[LOBPCG], object] | None
    ortho: tuple[Any, Any, Any]


class LOBPCGAutogradFunction(Function):
    """The pairs of a symmetric matrix, differentiable where that is dense and real."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, A: Tensor, B: Tensor | None, request: _Request
    ) -> tuple[Tensor, Tensor]:
        A = A if A.is_sparse else A.contiguous()
        B = B if B is None or B.is_sparse else B.contiguous()
        values, vectors = _pairs(A, B, request)
        ctx.save_for_backward(A, B, values, vectors)
        return values, vectors

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: Any, into_values: Tensor, into_vectors: Tensor
    ) -> tuple[Tensor, None, None]:
        A, B, values, vectors = ctx.saved_tensors
        if A.is_sparse or (B is not None and B.is_sparse and ctx.needs_input_grad[1]):
            raise ValueError(_UNSUPPORTED.format(what="sparse"))
        if A.is_complex() or (B is not None and B.is_complex()):
            raise ValueError(_UNSUPPORTED.format(what="complex"))
        if B is not None:
            raise ValueError(
                "lobpcg.backward does not support backward with B != I yet."
            )
        return _slope(into_values, into_vectors, A, values, vectors), None, None


def _slope(into_values: Any, into_vectors: Any, A: Any, D: Any, U: Any) -> Tensor:
    """Return the gradient of A (…, m, m) from those of D (…, k) and U (…, m, k).

    A vector turns towards another of U by the reciprocal gap of their values. Towards
    the rest x of the space it turns as A - dI inverted there says: the system
    ``[[A - d, U], [Uᵀ, 0]] [x, y] = [g, 0]`` has the x orthogonal to U.
    """
    gaps = D.unsqueeze(-2) - D.unsqueeze(-1)
    eye = FUNCTIONS["eye"]
    same = eye(D.shape[-1], dtype=bool, device=D.device)
    turns = U.mT.matmul(into_vectors) / gaps.masked_fill(same, float("inf"))
    slope = U.matmul(turns + into_values.diag_embed())
    m, k = U.shape[-2:]
    if m > k:
        identity = eye(m, dtype=A.dtype, device=A.device)
        shifted = A.unsqueeze(-3) - D[..., None, None] * identity
        columns = stack([U] * k, -3)
        corner = U.new_zeros((*columns.shape[:-2], k, k))
        below = cat((columns.mT, corner), -1)
        system = cat((cat((shifted, columns), -1), below), -2)
        wanted = cat((into_vectors, corner[..., 0, :, :]), -2)
        slope = slope - solve(system, wanted.mT)[..., :m].mT
    return slope.matmul(U.mT)


@public
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[LOBPCG], object] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return ``k`` eigenvalues and vectors of A x = λ B x, with no more than products.

    A, dense or sparse, is of shape (…, m, m) and symmetric, B positive definite and the
    identity where it is left out; values are (…, k), vectors (…, m, k). ``X`` is a
    first guess of n >= k vectors, ``iK`` a preconditioner. The gradient of A is
    symmetric; there is none with B. Raises ValueError where m is below 3 n.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.lobpcg(torch.arange(9.0).diag(), 2, largest=False)[0].abs().round()
    tensor([0., 1.])
    """
    request = _Request(
        k,
        X,
        n,
        iK,
        1000 if niter is None else niter,
        tol,
        True if largest is None else largest,
        "ortho" if method is None else method,
        tracker,
        (ortho_iparams, ortho_fparams, ortho_bparams),
    )
    if not (A.requires_grad or (B is not None and B.requires_grad)):
        return _pairs(A, B, request)
    even = (A + A.mT) / 2
    even_B = None if B is None else (B + B.mT) / 2
    return LOBPCGAutogradFunction.apply(even, even_B, request)


def _pairs(A: Tensor, B: Tensor | None, request: _Request) -> tuple[Tensor, Tensor]:
    """Check the arguments and iterate, for one matrix of a batch after the other."""
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(
            f"A and B must have same shape, got {A.shape} vs {B.shape}"
        )
    kind = A.dtype if A.dtype in (float16, float32, float64) else float32
    tol = _ROUNDING[kind] ** 0.5 if request.tol is None else request.tol
    sizes = _sizes(A, request)
    params = _parameters(sizes, tol, request)
    if A.dim() == 2:
        return _iterated(A, B, request.X, request, params, kind)
    return _batch(A, B, request, params, kind)


def _sizes(A: Tensor, request: _Request) -> dict[str, int]:
    m, (k, X, n) = A.shape[-1], request[:3]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = X.shape[-1] if X is not None else k if n is None else n
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m})"
            f" is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    return {"m": m, "n": n, "k": k, "niter": request.niter}


def _parameters(sizes: dict[str, int], tol: float, request: _Request) -> _Params:
    """Return what steers the iteration; the user's numbers count for ``ortho`` only."""
    iparams, fparams, bparams = sizes, {"tol": tol}, {"largest": request.largest}
    if request.method == "ortho":
        for known, given in zip(
            (iparams, fparams, bparams), request.ortho, strict=True
        ):
            known.update(given or {})
        for name in ("ortho_i_max", "ortho_j_max"):
            iparams.setdefault(name, 3)
        for name in ("ortho_tol", "ortho_tol_drop", "ortho_tol_replace"):
            fparams.setdefault(name, tol)
        bparams.setdefault("ortho_use_drop", False)
    return iparams, fparams, bparams


def _iterated(
    A: Tensor,
    B: Tensor | None,
    X: Tensor | None,
    request: _Request,
    params: _Params,
    kind: dtype,
) -> tuple[Tensor, Tensor]:
    """Return the pairs of one matrix."""
    shape = (params[0]["m"], params[0]["n"])
    if X is None:
        guess: Tensor = FUNCTIONS["randn"](shape, dtype=kind, device=A.device)
    else:
        guess = X
    if guess.shape != shape:
        name = "X_" if "batch_index" in params[0] else "X"
        raise AssertionError(
            f"{name} shape mismatch: got {guess.shape}, expected {shape}"
        )
    worker = LOBPCG(A, B, guess, request.iK, *params, request.method, request.tracker)
    worker.run()
    k = params[0]["k"]
    return worker.E[:k], worker.X[:, :k]


def _batch(
    A: Tensor, B: Tensor | None, request: _Request, params: _Params, kind: dtype
) -> tuple[Tensor, Tensor]:
    front, count = A.shape[:-2], A.shape[:-2].numel()
    m, k = params[0]["m"], params[0]["k"]

    def in_row(batch: Tensor | None) -> Any:
        if batch is None:
            return [None] * count
        return batch.reshape(count, *batch.shape[-2:])

    matrices = zip(*map(in_row, (A, B, request.X)), strict=True)
    values = FUNCTIONS["empty"]((count, k), dtype=kind, device=A.device)
    vectors = FUNCTIONS["empty"]((count, m, k), dtype=kind, device=A.device)
    for i, (A_one, B_one, X_one) in enumerate(matrices):
        params[0]["batch_index"] = i
        values[i], vectors[i] = _iterated(A_one, B_one, X_one, request, params, kind)
    return values.reshape(*front, k), vectors.reshape(*front, m, k)
