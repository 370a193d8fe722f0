"""Spectral normalisation by hooks, as it was before parametrizations."""

from __future__ import annotations

from typing import Any

from ... import linalg
from ..._dispatch.declare import FUNCTIONS
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from .. import functional as nnf
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter, UninitializedParameter

_UNINITIALIZED = (
    "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
    "sure to run the dummy forward before applying spectral normalization"
)


class SpectralNorm:
    """The hook that divides a weight by an estimate of its largest singular value."""

    _version: int = 1
    """1: the weight itself is not saved, and ``v`` is a buffer as ``u`` is."""

    def __init__(
        self,
        name: str = "weight",
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix, with ``dim`` as its rows."""
        if self.dim != 0:
            rest = [d for d in range(weight.dim()) if d != self.dim]
            weight = weight.permute(self.dim, *rest)
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """Return the weight over its largest singular value."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    nnf.normalize(matrix.t().mv(u), dim=0, eps=self.eps, out=v)
                    nnf.normalize(matrix.mv(v), dim=0, eps=self.eps, out=u)
                # The next forward writes into the buffers; this graph keeps copies.
                u, v = u.clone(), v.clone()
        return weight / FUNCTIONS["dot"](u, matrix.mv(v))

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for mark in ("u", "v", "orig"):
            delattr(module, f"{self.name}_{mark}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Any) -> Tensor:
        """Return the v with u' W v = sigma, the shortest with u = W v up to scale."""
        v = linalg.multi_dot(
            [matrix.t().mm(matrix).pinverse(), matrix.t(), u.unsqueeze(1)]
        ).squeeze(1)
        return v.mul_(sigma / FUNCTIONS["dot"](u, matrix.mv(v)))

    @staticmethod
    def apply(
        module: Any, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter by what it is computed from."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    "Cannot register two spectral_norm hooks on the same parameter "
                    f"{name}"
                )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(
                f"`SpectralNorm` cannot be applied as parameter `{name}` is None"
            )
        if isinstance(weight, UninitializedParameter):
            raise ValueError(_UNINITIALIZED)
        with no_grad():
            sizes = made.reshape_weight_to_matrix(weight).size()
            starts = [weight.new_empty(size).normal_(0, 1) for size in sizes]
            units = [nnf.normalize(start, dim=0, eps=eps) for start in starts]
        delattr(module, made.name)
        module.register_parameter(f"{made.name}_orig", weight)
        # A plain attribute: as a parameter it would be trained, as a buffer saved.
        setattr(module, made.name, weight.data)
        module.register_buffer(f"{made.name}_u", units[0])
        module.register_buffer(f"{made.name}_v", units[1])
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(
            SpectralNormLoadStateDictPreHook(made)
        )
        return made


class SpectralNormLoadStateDictPreHook:
    """Make ``v`` for states that older versions saved."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        if version is not None and version >= 1:
            return
        new = all(key + mark in state_dict for mark in ("_orig", "_u", "_v"))
        if version is None and new and key not in state_dict:
            return  # saved by version 1, without its metadata
        absent = [m for m in ("_orig", "", "_u") if key + m not in state_dict]
        if absent:
            if strict:
                missing_keys.extend(key + mark for mark in absent)
            return
        with no_grad():
            original = state_dict[f"{key}_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix, u = fn.reshape_weight_to_matrix(original), state_dict[f"{key}_u"]
            state_dict[f"{key}_v"] = fn._solve_v_and_rescale(matrix, u, sigma)


class SpectralNormStateDictHook:
    """Note the version in a state's metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: Any, state_dict: Any, prefix: str, local_metadata: Any
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value; the old form, by a forward hook.

    >>> import gradtape as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        transposed = ConvTranspose1d | ConvTranspose2d | ConvTranspose3d
        dim = 1 if isinstance(module, transposed) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`; raise ValueError where it was not applied."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(hooks.items()):
            inner = getattr(hook, "hook", hook)
            if getattr(getattr(inner, "fn", None), "name", None) == name:
                del hooks[key]
    return module
