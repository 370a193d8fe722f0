"""Parametrizations, norms of weights and fusing beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from .._engines import needs_torch
from ..oracle import assert_same

pytestmark = needs_torch


def state(t: Any, module: Any) -> dict[str, Any]:
    return {key: value.tolist() for key, value in module.state_dict().items()}


def trained(t: Any, module: Any, x: Any, steps: int = 3) -> Any:
    """Return losses and what the module holds after some steps of SGD."""
    optimizer = t.optim.SGD(module.parameters(), 0.05)
    losses: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = module(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    module.eval()
    return losses, module(x).tolist(), state(t, module)


def caught(call: Callable[[], Any]) -> Any:
    try:
        return str(call())
    except Exception as error:
        text = str(error).split("\nException raised from")[0]
        return type(error).__name__, text.replace("gradtape", "torch")


LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "linear": (lambda t: t.nn.Linear(3, 4), (2, 3)),
    "conv": (lambda t: t.nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
    "transposed": (lambda t: t.nn.ConvTranspose1d(2, 3, 2), (1, 2, 4)),
}
NORMS: dict[str, Callable[[Any, Any], Any]] = {
    "weight": lambda t, m: t.nn.utils.parametrizations.weight_norm(m),
    "weight_1": lambda t, m: t.nn.utils.parametrizations.weight_norm(m, dim=1),
    "weight_all": lambda t, m: t.nn.utils.parametrizations.weight_norm(m, dim=None),
    "spectral": lambda t, m: t.nn.utils.parametrizations.spectral_norm(m),
    "spectral_2": lambda t, m: t.nn.utils.parametrizations.spectral_norm(
        m, n_power_iterations=2, dim=1
    ),
    "spectral_bias": lambda t, m: t.nn.utils.parametrizations.spectral_norm(m, "bias"),
    "old_weight": lambda t, m: t.nn.utils.weight_norm(m),
    "old_weight_all": lambda t, m: t.nn.utils.weight_norm(m, dim=None),
    "old_spectral": lambda t, m: t.nn.utils.spectral_norm(m),
    "old_spectral_2": lambda t, m: t.nn.utils.spectral_norm(m, n_power_iterations=2),
}


@pytest.mark.parametrize("layer", sorted(LAYERS))
@pytest.mark.parametrize("norm", sorted(NORMS))
def test_normalised_layers_train_alike(norm: str, layer: str) -> None:
    make, shape = LAYERS[layer]

    def program(t: Any) -> Any:
        t.manual_seed(0)
        module = NORMS[norm](t, make(t).double())  # sums cancel in training
        text, x = repr(module), t.randn(shape).double()
        names = [name for name, _ in module.named_parameters()]
        return text, names, state(t, module), trained(t, module, x)

    assert_same(program, rtol=1e-4)


@pytest.mark.parametrize("norm", ["old_weight", "old_spectral"])
def test_old_norms_are_removed_alike(norm: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        u = t.nn.utils
        remove = (
            u.remove_weight_norm if norm == "old_weight" else u.remove_spectral_norm
        )
        module = NORMS[norm](t, t.nn.Linear(3, 4))
        twice = caught(lambda: NORMS[norm](t, module))
        remove(module)
        again = caught(lambda: remove(module))
        names = [name for name, _ in module.named_parameters()]
        return twice, again, names, state(t, module), module(t.ones(3)).tolist()

    assert_same(program)


def test_states_of_old_norms_load_into_new_ones() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        old = t.nn.utils.weight_norm(t.nn.Linear(3, 4))
        new = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 4))
        new.load_state_dict(old.state_dict())
        return new.weight.tolist(), state(t, new)

    assert_same(program)


def test_states_of_first_spectral_norms_load() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        module = t.nn.utils.spectral_norm(t.nn.Linear(3, 4))
        module(t.ones(3))
        saved = module.state_dict()
        saved["weight"] = module.weight.detach()
        del saved["weight_v"]
        saved._metadata[""].pop("spectral_norm")
        other = t.nn.utils.spectral_norm(t.nn.Linear(3, 4))
        return str(other.load_state_dict(saved)), state(t, other)

    assert_same(program, rtol=1e-3)


@pytest.mark.parametrize("map_name", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("base", [True, False])
def test_orthogonal_layers_match(
    map_name: str | None, sizes: tuple[int, int], base: bool
) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        orthogonal = t.nn.utils.parametrizations.orthogonal
        layer = t.nn.Linear(*sizes)
        made = orthogonal(layer, orthogonal_map=map_name, use_trivialization=base)
        first = made.weight.tolist()
        assigned = caught(lambda: setattr(made, "weight", t.eye(*sizes).T.contiguous()))
        return first, repr(made), assigned, made.weight.tolist()

    assert_same(program, rtol=1e-3)


# ---- own parametrizations ----


def parts(t: Any) -> dict[str, Any]:
    """Return parametrizations of several kinds, as modules of a library."""

    class Doubled(t.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return 2 * x

        def right_inverse(self, x: Any) -> Any:
            return x / 2

    class Shifted(t.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return x + 1

    class Wider(t.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return t.cat([x, x], -1)

    class Exact(t.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return x.double()

    class Sum(t.nn.Module):  # type: ignore[name-defined]
        def forward(self, a: Any, b: Any) -> Any:
            return a + b

        def right_inverse(self, x: Any) -> Any:
            return x * 0.25, x * 0.75

    class Shorter(t.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return x

        def right_inverse(self, x: Any) -> Any:
            return x[:-1]

    class Rounded(Shorter):
        def right_inverse(self, x: Any) -> Any:
            return x.bool()

    class Odd(t.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return 3

        def right_inverse(self, x: Any) -> Any:
            return 3

    kinds = (Doubled, Shifted, Wider, Exact, Sum, Shorter, Rounded, Odd)
    return {kind.__name__: kind() for kind in kinds}


CHAINS = [
    ("Doubled",),
    ("Shifted",),
    ("Doubled", "Shifted"),
    ("Shifted", "Doubled"),
    ("Sum",),
    ("Sum", "Doubled"),
    ("Wider",),
    ("Exact",),
    ("Doubled", "Wider"),
    ("Doubled", "Exact"),
    ("Shorter",),
    ("Rounded",),
    ("Doubled", "Shorter"),
    ("Doubled", "Rounded"),
    ("Odd",),
    ("Doubled", "Odd"),
]


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("chain", CHAINS, ids="-".join)
def test_chains_of_parametrizations_match(chain: tuple[str, ...], unsafe: bool) -> None:
    def program(t: Any) -> Any:
        parametrize = t.nn.utils.parametrize
        t.manual_seed(0)
        layer, made = t.nn.Linear(2, 2), parts(t)
        found: list[Any] = []
        for name in chain:
            found.append(
                caught(
                    lambda n=name: parametrize.register_parametrization(
                        layer, "weight", made[n], unsafe=unsafe
                    )
                )
            )
        found.append(caught(lambda: layer.weight.tolist()))
        found.append(caught(lambda: setattr(layer, "weight", t.ones(2, 2))))
        found.append(caught(lambda: layer.weight.tolist()))
        found.append(parametrize.is_parametrized(layer, "weight"))
        found.append(parametrize.is_parametrized(layer, "bias"))
        found.append(parametrize.type_before_parametrizations(layer).__name__)
        found.append(state(t, layer))
        return found

    assert_same(program)


@pytest.mark.parametrize("leave", [True, False])
@pytest.mark.parametrize("name", ["Doubled", "Sum", "Shifted"])
def test_parametrizations_are_removed_alike(name: str, leave: bool) -> None:
    def program(t: Any) -> Any:
        parametrize = t.nn.utils.parametrize
        t.manual_seed(0)
        layer = t.nn.Linear(2, 2)
        parametrize.register_parametrization(layer, "weight", parts(t)[name])
        found = caught(
            lambda: parametrize.remove_parametrizations(layer, "weight", leave)
        )
        again = caught(lambda: parametrize.remove_parametrizations(layer, "bias"))
        return (
            found,
            again,
            state(t, layer),
            type(layer).__name__,
            list(dict(layer.named_parameters())),
        )

    assert_same(program)


def test_missing_tensors_are_refused_alike() -> None:
    def program(t: Any) -> Any:
        register = t.nn.utils.parametrize.register_parametrization
        p = t.nn.utils.parametrizations
        layer = t.nn.Linear(2, 2)
        return [
            caught(lambda: register(layer, "other", parts(t)["Doubled"])),
            caught(lambda: p.spectral_norm(layer, "other")),
            caught(lambda: p.orthogonal(layer, "bias")),
            caught(lambda: p.orthogonal(layer, orthogonal_map="qr")),
            caught(lambda: p.spectral_norm(layer, n_power_iterations=0)),
            caught(lambda: p.spectral_norm(layer, dim=3)),
            caught(lambda: t.nn.utils.parametrize.ParametrizationList([], t.ones(1))),
        ]

    assert_same(program)


def test_cached_values_are_computed_once() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(2, 2))
        with t.nn.utils.parametrize.cached():
            inside = layer.weight is layer.weight
        return inside, layer.weight is layer.weight

    assert_same(program)


def test_parametrizations_are_transferred_alike() -> None:
    def program(t: Any) -> Any:
        parametrize = t.nn.utils.parametrize
        t.manual_seed(0)
        first, second = t.nn.Linear(2, 2), t.nn.Linear(2, 2)
        parametrize.register_parametrization(first, "weight", parts(t)["Doubled"])
        parametrize.transfer_parametrizations_and_params(first, second)
        return repr(second), second.weight.tolist(), state(t, second)

    assert_same(program)


def test_copies_and_pickles_of_parametrized_modules() -> None:
    layer = gradtape.nn.utils.parametrizations.weight_norm(gradtape.nn.Linear(2, 2))
    other = copy.deepcopy(layer)
    assert other.weight.tolist() == layer.weight.tolist()
    assert other.parametrizations is not layer.parametrizations
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)


# ---- the rest ----


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_fused_layers_match(affine: bool, bias: bool) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        u, found = t.nn.utils, []
        for layer, norm, fuse in (
            (t.nn.Conv2d(2, 3, 2, bias=bias), t.nn.BatchNorm2d, u.fuse_conv_bn_eval),
            (t.nn.Linear(2, 3, bias=bias), t.nn.BatchNorm1d, u.fuse_linear_bn_eval),
        ):
            # PyTorch fails for a linear layer and a batch norm without a weight.
            bn = norm(3, affine=affine or norm is t.nn.BatchNorm1d)
            bn.running_mean.normal_()
            bn.running_var.uniform_(1, 2)
            found.append(caught(lambda f=fuse, m=layer, b=bn: f(m, b)))
            fused = fuse(layer.eval(), bn.eval())
            found.append([fused.weight.tolist(), fused.bias.tolist()])
            found.append([fused.weight.requires_grad, fused.bias.requires_grad])
        return found

    assert_same(program)


def test_skipping_initialisation_draws_nothing() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        made = t.nn.utils.skip_init(t.nn.Linear, 3, 2)
        refused = caught(lambda: t.nn.utils.skip_init(t.nn.ReLU))
        return list(made.weight.shape), t.rand(2).tolist(), refused

    assert_same(program)


def test_functional_calls_under_the_old_name() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.Linear(2, 1)
        given = {"weight": t.ones(1, 2), "bias": t.zeros(1)}
        call = t.nn.utils.stateless.functional_call
        return call(layer, given, t.tensor([3.0, 4.0])).tolist()

    assert_same(program)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_norms_of_slices_and_their_gradients(dim: int) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        v = t.randn(3, 4, 2, requires_grad=True)
        g = (t.norm_except_dim(v, 2, dim) * 2).detach().requires_grad_()
        w = t._weight_norm(v, g, dim)
        grads = t.autograd.grad((w**3).sum(), [v, g])
        return (
            w.tolist(),
            w.grad_fn.name(),
            [x.tolist() for x in grads],
            (t.norm_except_dim(v, 1, dim).tolist()),
        )

    assert_same(program)


def test_normalised_weights_are_differentiable_twice() -> None:
    gradtape.manual_seed(0)
    v = gradtape.randn(3, 2, dtype=gradtape.float64, requires_grad=True)
    g = gradtape.rand(3, 1, dtype=gradtape.float64, requires_grad=True)
    assert gradtape.autograd.gradgradcheck(
        lambda v, g: gradtape._weight_norm(v, g, 0),  # type: ignore[attr-defined]
        (v, g),
    )
