"""Ready parametrizations: orthogonal matrices, weight and spectral norm."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ... import linalg
from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import finfo
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from .. import functional as nnf
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization

_NO_ASSIGNMENT = (
    "It is not possible to assign to the matrix exponential or the Cayley "
    "parametrizations when use_trivialization=False."
)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _eye_like(q: Tensor) -> Tensor:
    return FUNCTIONS["eye"](q.size(-1), dtype=q.dtype, device=q.device)


def _is_orthogonal(q: Tensor) -> bool:
    eps = 10.0 * q.size(-2) * finfo(q.dtype).eps
    return bool(FUNCTIONS["allclose"](q.mH @ q, _eye_like(q), atol=eps))


def _make_orthogonal(a: Tensor) -> Tensor:
    """Return the Q of a QR decomposition whose R has a positive diagonal."""
    factors, tau = FUNCTIONS["geqrf"](a)
    q = linalg.householder_product(factors, tau)
    return q * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Matrices to orthogonal ones, by one of three maps.

    With a base, the map starts around an orthogonal matrix, that it can be assigned.
    """

    base: Tensor | None

    def __init__(
        self,
        weight: Tensor,
        orthogonal_map: _OrthMaps,
        *,
        use_trivialization: bool = True,
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError(
                "The householder parametrization does not support complex tensors."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.size(-2) < x.size(-1)
        x = x.mT if wide else x
        if self.orthogonal_map is _OrthMaps.householder:
            q = _from_reflections(x)
        else:
            q = self._from_skew(x)
        base = getattr(self, "base", None)
        q = q if base is None else base @ q
        return q.mT if wide else q

    def _from_skew(self, x: Tensor) -> Tensor:
        n, k = x.size(-2), x.size(-1)
        x = x.tril()
        if n != k:
            more = x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)
            x = FUNCTIONS["cat"]([x, more], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = FUNCTIONS["matrix_exp"](skew)
        else:  # Cayley: (I + A / 2) (I - A / 2)^-1
            one = _eye_like(skew)
            q = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return q[..., :k] if n != k else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """Return what the map takes to ``q``, made orthogonal where it is not."""
        if q.shape != self.shape:
            raise ValueError(
                "Expected a matrix or batch of matrices of shape "
                f"{self.shape}. Got a tensor of shape {q.shape}."
            )
        given, wide = q, q.size(-2) < q.size(-1)
        q = q.mT if wide else q
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(_NO_ASSIGNMENT)
            a, tau = FUNCTIONS["geqrf"](q)
            # The diagonal carries the signs of R's, which a reflection cannot make.
            diagonal = a.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return a.mT if wide else a
        n, k = q.size(-2), q.size(-1)
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            shape = (*q.size()[:-2], n, n - k)
            more = FUNCTIONS["randn"](shape, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(FUNCTIONS["cat"]([q, more], dim=-1))
        self.base = q
        # Every map takes -I (a 0 skew part) to the base itself.
        negative = FUNCTIONS["zeros_like"](given)
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative


def _from_reflections(x: Tensor) -> Tensor:
    a = x.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
    q = linalg.householder_product(a, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Keep a matrix, or a batch of them, orthogonal (its columns, or its rows).

    ``orthogonal_map`` is "matrix_exp", "cayley" or "householder"; square matrices take
    the first by default, others the last. Raises ValueError for another name, or for a
    tensor of fewer than two dimensions.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(2), atol=1e-6)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"Module '{module}' has no parameter or buffer with name '{name}'"
        )
    if weight.dim() < 2:
        raise ValueError(
            "Expected a matrix or batch of matrices. "
            f"Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = (
            "matrix_exp" if square or weight.is_complex() else "householder"
        )
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """A weight of lengths ``g`` and direction ``v``."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return FUNCTIONS["_weight_norm"](weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return FUNCTIONS["norm_except_dim"](weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train a weight's lengths and direction in its place.

    ``original0`` holds the lengths of the slices along ``dim`` (of the whole for
    None), ``original1`` the direction. See Salimans and Kingma, "Weight normalization"
    (2016).

    >>> import gradtape as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([2, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_old_names(state_dict: Any, prefix: str, *rest: Any) -> None:
        """Accept what the older ``weight_norm`` saved."""
        old = [f"{prefix}{name}{mark}" for mark in ("_g", "_v")]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{number}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(from_old_names)
    return module


class _SpectralNorm(Module):
    """A weight over its largest singular value, which a power iteration follows."""

    def __init__(
        self,
        weight: Tensor,
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, "
                f"{ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            for mark, size in zip("uv", matrix.size(), strict=True):
                start = matrix.new_empty(size).normal_(0, 1)
                unit = nnf.normalize(start, dim=0, eps=self.eps)
                self.register_buffer(f"_{mark}", unit)
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            rest = (d for d in range(weight.dim()) if d != self.dim)
            weight = weight.permute(self.dim, *rest)
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            nnf.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
            nnf.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return nnf.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next forward writes into the buffers, this backward needs them.
        u, v = self._u.clone(), self._v.clone()
        return weight / FUNCTIONS["vdot"](u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value.

    Each forward in training mode improves the estimate by ``n_power_iterations``
    steps. See Miyato et al., "Spectral normalization for generative adversarial
    networks" (2018). Raises ValueError where there is no such tensor.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 2))
    >>> torch.linalg.matrix_norm(layer.weight, 2).round(decimals=3)
    tensor(1., grad_fn=<RoundBackward1>)
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"Module '{module}' has no parameter or buffer with name '{name}'"
        )
    if dim is None:
        transposed = ConvTranspose1d | ConvTranspose2d | ConvTranspose3d
        dim = 1 if isinstance(module, transposed) else 0
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    register_parametrization(module, name, parametrization)
    return module
