"""The iteration of LOBPCG: a block of vectors, improved until enough have converged.

``basic`` is Knyazev's method (SIAM J. Sci. Comput. 23, 2001), ``ortho`` the one that
keeps its basis orthonormal (Duersch, Shao, Yang and Gu, arXiv:1704.07458) with the
SVQB of Stathopoulos and Wu (SIAM J. Sci. Comput. 23, 2002).
"""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch
# pyright: reportConstantRedefinition=false

from __future__ import annotations

from collections.abc import Callable

from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor
from ..ops.linalg.cholesky import cholesky
from ..ops.linalg.eig import eigh
from ..ops.linalg.qr import qr
from ..ops.linalg.triangular_solve import solve_triangular
from ..ops.sparse.math import mm as sparse_mm


def _times(A: Tensor | None, X: Tensor) -> Tensor:
    """Return A X; A is the identity where there is none."""
    if A is None:
        return X
    return sparse_mm(A, X) if A.is_sparse else A.matmul(X)


def _form(A: Tensor | None, S: Tensor) -> Tensor:
    """Return Sᵀ A S."""
    return S.mT.matmul(_times(A, S))


def _spectrum(A: Tensor, largest: bool) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and vectors of a small matrix, the wanted ones first."""
    values, vectors = eigh(A, "U")
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)


def _norm(X: Tensor) -> float:
    return float(X.norm())


class LOBPCG:
    """The state of one iteration, under the names that trackers know, and its steps.

    The columns of S are the approximate vectors X, the directions P in which they last
    moved, and the new directions W found from the residuals R.
    """

    def __init__(
        self,
        A: Tensor,
        B: Tensor | None,
        X: Tensor,
        iK: Tensor | None,
        iparams: dict[str, int],
        fparams: dict[str, float],
        bparams: dict[str, bool],
        method: str,
        tracker: Callable[[LOBPCG], object] | None,
    ) -> None:
        m, n = iparams["m"], iparams["n"]
        self.A, self.B, self.X, self.iK = A, B, X, iK
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        self.method, self.tracker = method, tracker
        self.E = X.new_zeros((n,))
        self.R = X.new_zeros((m, n))
        self.S = X.new_zeros((m, 3 * n))
        self.tvars: dict[str, Tensor] = {}
        self.ivars: dict[str, int] = {"istep": 0}
        self.fvars: dict[str, float] = {"_": 0.0}
        self.bvars: dict[str, bool] = {"_": False}

    def __str__(self) -> str:
        parts = "iparams fparams bparams ivars fvars bvars tvars A B iK X E"
        lines = [f"  {part}={getattr(self, part)}" for part in parts.split()]
        return "\n".join(["LOBPCG:", *lines, ""])

    def run(self) -> None:
        """Improve X and E until all have converged, or nobody wants more steps."""
        while self.ivars["istep"] == 0 or not self.stop_iteration():
            self.update()
            if self.tracker is not None:
                self.tracker(self)

    def stop_iteration(self) -> bool:
        """Say whether to go on; a tracker may set ``bvars["force_stop"]``."""
        ivars = self.ivars
        return (
            self.bvars.get("force_stop", False)
            or ivars["iterations_left"] == 0
            or ivars["converged_count"] >= self.iparams["k"]
        )

    def update(self) -> None:
        """Do one step."""
        is_ortho = self.method == "ortho"
        if self.ivars["istep"] == 0:
            self._measure()
            self._start(is_ortho)
        elif is_ortho:
            self._step_ortho()
        else:
            self._step_basic()
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1

    def update_residual(self) -> None:
        """Compute R = A X - B X E."""
        self.R = _times(self.A, self.X) - _times(self.B, self.X) * self.E

    def update_converged_count(self) -> int:
        """Count the leading pairs whose residual is small beside what makes it up."""
        before, fvars = self.ivars["converged_count"], self.fvars
        scale = fvars["A_norm"] + self.E.abs() * fvars["B_norm"]
        error = self.R.norm(2, (0,)) / (self.X.norm(2, (0,)) * scale)
        small = (error < self.fparams["tol"]).tolist()
        count = small.index(False) if False in small else len(small)
        if count < before:
            raise AssertionError(
                f"the number of converged eigenpairs (was {before}, got {count}) "
                "cannot decrease"
            )
        self.ivars["converged_count"] = count
        self.tvars["rerr"] = error
        return count

    # ---- steps -----------------------------------------------------------------------

    def _measure(self) -> None:
        """Estimate the norms of A and B from what they do to the first guess."""
        size = _norm(self.X)
        each = size**-1
        self.fvars["X_norm"] = size
        self.fvars["A_norm"] = _norm(_times(self.A, self.X)) * each
        self.fvars["B_norm"] = _norm(_times(self.B, self.X)) * each
        self.ivars["iterations_left"] = self.iparams["niter"]
        self.ivars["converged_count"] = self.ivars["converged_end"] = 0

    def _ritz(self, S: Tensor) -> tuple[Tensor, Tensor]:
        """Return the best values in the span of S, and how to combine S for vectors."""
        basis = self._orthonormalizer(S)
        values, vectors = self._sorted(_form(_form(self.A, S), basis))
        return values, basis.matmul(vectors)

    def _sorted(self, M: Tensor) -> tuple[Tensor, Tensor]:
        return _spectrum(M, self.bparams["largest"])

    def _orthonormalizer(self, S: Tensor) -> Tensor:
        """Return the upper triangular C such that S C is B-orthonormal."""
        gram = _form(self.B, S)
        scale = (
            gram.diagonal(0, -2, -1) ** -0.5
        )  # columns of length 1: well conditioned
        factor = cholesky(gram * scale * scale.unsqueeze(-1), upper=True)
        return solve_triangular(factor, scale.diag_embed(), upper=True, left=False)

    def _start(self, is_ortho: bool) -> None:
        values, mixed = self._ritz(self.X)
        if is_ortho:
            self.X = self.X.matmul(mixed)  # E stays 0: R is in all of the span of A X
        else:
            self.X[:] = self.X.matmul(mixed)
            self.E[:] = values
        self._gather(None, is_ortho)

    def _step_basic(self) -> None:
        n, nc = self.iparams["n"], self.ivars["converged_count"]
        S = self.S[:, nc : self.ivars["converged_end"]]
        values, mixed = self._ritz(S)
        self.X[:, nc:] = S.matmul(mixed[:, : n - nc])
        self.E[nc:] = values[: n - nc]
        self._gather(S.matmul(mixed[:, n : 2 * n - nc]), is_ortho=False)

    def _step_ortho(self) -> None:
        nc = self.ivars["converged_count"]
        left = self.iparams["n"] - nc
        S = self.S[:, nc : self.ivars["converged_end"]]
        values, vectors = self._sorted(_form(self.A, S))
        self.X[:, nc:] = S.matmul(vectors[:, :left])
        self.E[nc:] = values[:left]
        turned = qr(vectors[:left, left:].mT).Q
        self._gather(S.matmul(vectors[:, left:].matmul(turned)), is_ortho=True)

    def _gather(self, P: Tensor | None, is_ortho: bool) -> None:
        """Put X, P and the directions that the new residuals give into S."""
        self.update_residual()
        converged = self.update_converged_count()
        end = n = self.iparams["n"]
        self.S[:, :n] = self.X
        if P is not None:
            end = n + P.shape[-1]
            self.S[:, n:end] = P
        R = self.R if P is None else self.R[:, converged:]
        W = self._ortho(R, self.S[:, :end]) if is_ortho else _times(self.iK, R)
        self.ivars["converged_end"] = end + W.shape[-1]
        self.S[:, end : end + W.shape[-1]] = W

    # ---- orthonormal bases -----------------------------------------------------------

    def _ortho(self, U: Tensor, V: Tensor) -> Tensor:
        """Return B-orthonormal columns that with V span what U and V do."""
        self.ivars.pop("ortho_i", None)
        self.ivars.pop("ortho_j", None)
        tolerance = self.fparams["ortho_tol"]
        V_norm = _norm(_times(self.B, V))
        inside = V.mT.matmul(_times(self.B, U))
        for i in range(self.iparams["ortho_i_max"]):
            self.ivars["ortho_i"] = i
            U = self._orthonormal(U - V.matmul(inside), i)
            if U.numel() == 0:  # nothing in U that is not in V
                break
            inside = V.mT.matmul(_times(self.B, U))
            error = _norm(inside) * (V_norm * _norm(U)) ** -1
            self.fvars[f"ortho_VBU_rerr[{i}]"] = error
            if error < tolerance:
                break
            self._check_room(U.shape[-1], V.shape[-1])
        return U

    def _orthonormal(self, U: Tensor, i: int) -> Tensor:
        drops = self.bparams["ortho_use_drop"]
        fparams = self.fparams
        for j in range(self.iparams["ortho_j_max"]):
            self.ivars["ortho_j"] = j
            is_first = drops and j == 0
            floor = fparams["ortho_tol_drop" if is_first else "ortho_tol_replace"]
            U = self._svqb(U, drops and j > 0, floor)
            if U.numel() == 0:
                break
            BU = _times(self.B, U)
            gram = U.mT.matmul(BU)
            rest = gram - FUNCTIONS["eye"](
                gram.shape[-1], dtype=gram.dtype, device=gram.device
            )
            error = _norm(rest) * (_norm(BU) * _norm(U)) ** -1
            self.fvars[f"ortho_UBUmI_rerr[{i}, {j}]"] = error
            if error < fparams["ortho_tol"]:
                break
        return U

    def _svqb(self, U: Tensor, drop: bool, floor: float) -> Tensor:
        """Return U with B-orthonormal columns, found from the spectrum of Uᵀ B U.

        Directions whose share is below ``floor`` are dropped, or taken as if it was
        that; columns of zeros are dropped in any case.
        """
        if U.numel() == 0:
            return U
        U = U[:, _form(self.B, U).diagonal(0, -2, -1) != 0]
        if U.numel() == 0:
            return U
        gram = _form(self.B, U)
        scale = gram.diagonal(0, -2, -1) ** -0.5
        values, vectors = _spectrum(gram * scale.unsqueeze(-1) * scale, largest=False)
        least = floor * values.abs().max()
        if drop:
            keep = values > least
            values, vectors = values[keep], vectors[:, keep]
        else:
            values = values.clamp(min=least)
        return (U * scale).matmul(vectors * values**-0.5)

    def _check_room(self, columns: int, known: int) -> None:
        m = self.iparams["m"]
        if m >= columns + known:
            return
        if self.B is None:
            raise AssertionError("B must not be None")
        raise ValueError(
            f"Overdetermined shape of U: #B-cols(={m}) >= #U-cols(={columns}) + "
            f"#V-cols(={known}) must hold"
        )
