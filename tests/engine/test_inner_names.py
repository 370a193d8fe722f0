"""Names that PyTorch does not document, and that libraries call all the same."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from .oracle import assert_same

torch = pytest.importorskip("torch")

ENGINES = (gradtape, torch)


def both(program: Callable[[Any], Any]) -> None:
    """Check that a program gives the same under both engines."""
    mine, theirs = (program(t) for t in ENGINES)
    assert mine == theirs


def test_tensors_laid_end_to_end():
    def program(t: Any) -> Any:
        utils = importlib.import_module(f"{t.__name__}._utils")
        like = [t.ones(2, 2), t.zeros(0), t.tensor(3.0)]
        flat = utils._flatten_dense_tensors(like)
        parts = utils._unflatten_dense_tensors(t.arange(5.0), like)
        return flat.tolist(), type(parts).__name__, [p.tolist() for p in parts]

    both(program)


def test_parts_are_views_with_gradients():
    def program(t: Any) -> Any:
        utils = importlib.import_module(f"{t.__name__}._utils")
        flat = t.arange(3.0, requires_grad=True)
        first, second = utils._unflatten_dense_tensors(flat, [t.ones(2), t.ones(1)])
        (first * second).sum().backward()
        return flat.grad.tolist()

    both(program)


@pytest.mark.parametrize(
    "name", ["gelu", "linear", "log_sigmoid", "one_hot", "scaled_dot_product_attention"]
)
def test_functions_of_layers_under_their_inner_names(name: str):
    t = gradtape
    outer = {"log_sigmoid": "logsigmoid"}.get(name, name)
    assert getattr(t._C._nn, name) is getattr(t.nn.functional, outer)
    assert callable(getattr(torch._C._nn, name))


def test_types_under_their_inner_names():
    def program(t: Any) -> Any:
        inner, x = t._C, t.ones(2)
        kinds = {inner.dtype: x.dtype, inner.device: x.device, inner.layout: x.layout}
        kinds |= {inner.Generator: t.default_generator, inner.TensorBase: x}
        kinds |= {inner.finfo: t.finfo(t.half), inner.iinfo: t.iinfo(t.int8)}
        kinds[inner.memory_format] = t.channels_last
        return [isinstance(value, kind) for kind, value in kinds.items()]

    both(program)


@pytest.mark.parametrize("name", ["_softmax", "_log_softmax"])
@pytest.mark.parametrize("converted", [False, True])
def test_inner_forms_of_softmax(name: str, converted: bool):
    def program(t: Any) -> Any:
        x = t.arange(4.0).view(2, 2).requires_grad_()
        found = getattr(t, name)(x, 1, converted)
        found[0].sum().backward()
        return found, x.grad, found.grad_fn.name()

    assert_same(program)


def test_other_inner_names_are_missing():
    assert not hasattr(gradtape._C._nn, "relu")
    assert not hasattr(torch._C._nn, "relu")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("uniform_", (-1.0, 1.0)),
        ("normal_", (0.0, 2.0)),
        ("trunc_normal_", (0.0, 1.0, -0.5, 0.5)),
        ("fill_", (3.0,)),
        ("zero_", ()),
    ],
)
def test_fillers_without_history(name: str, args: tuple[float, ...]):
    def program(t: Any) -> Any:
        t.manual_seed(0)
        weight = t.nn.Parameter(t.ones(2, 3))
        found = getattr(t.nn.init, f"_no_grad_{name}")(weight, *args)
        return found is weight, weight.is_leaf, weight.tolist()

    both(program)


def test_shapes_that_gradients_are_checked_by():
    def program(t: Any) -> Any:
        shapes = t.autograd._calculate_shape
        return [
            shapes(t.ones(2, 3), t.ones(4, 5), batched) for batched in (False, True)
        ]

    both(program)


def test_jacobians_by_tensors_that_are_no_inputs():
    def program(t: Any) -> Any:
        check = importlib.import_module(f"{t.__name__}.autograd.gradcheck")
        weight = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
        found = check._get_numerical_jacobian(
            lambda x: weight * x, (t.ones(2, dtype=t.float64),), target=(weight,)
        )
        parts = [weight, [weight.detach()], "no tensor"]
        counts = [len(list(check._iter_tensors(parts, needing))) for needing in (0, 1)]
        return [
            [each.round(decimals=4).tolist() for each in row] for row in found
        ], counts

    both(program)


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_reductions_as_numbers():
    def program(t: Any) -> Any:
        reduction = t.nn._reduction
        switches = [(a, b) for a in (None, True, False) for b in (None, True, False)]
        names = ("none", "mean", "sum", "elementwise_mean")
        return (
            [reduction.get_enum(name) for name in names],
            [reduction.legacy_get_string(*each) for each in switches],
            [reduction.legacy_get_enum(*each, emit_warning=False) for each in switches],
        )

    both(program)


def test_replicas_have_no_parameters_of_their_own():
    def program(t: Any) -> Any:
        layer = t.nn.BatchNorm1d(2)
        replica = layer._replicate_for_data_parallel()
        replica.weight = layer.weight.view_as(layer.weight)
        facts = [list(replica._parameters), replica._is_replica, replica.eps]
        shared = replica.running_mean is layer.running_mean
        return [
            *facts,
            shared,
            replica.weight._base is layer.weight,
            len(layer._buffers),
        ]

    both(program)


MASKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "whole": lambda t, x, m: t._masked_softmax(x, m, 3, 2),
    "last": lambda t, x, m: t._masked_softmax(x, m),
    "along the first": lambda t, x, m: t._masked_softmax(x, m, 0, 1),
    "of attention": lambda t, x, m: t._masked_softmax(x.detach(), m[0, 0], 3, 0),
    "of keys": lambda t, x, m: t._masked_softmax(x.detach(), m[:, 0, 0], 3, 1),
    "of keys along heads": lambda t, x, m: t._masked_softmax(
        x.detach(), m[:, 0, 0], 1, 1
    ),
    "wrong attention": lambda t, x, m: t._masked_softmax(x, m[0, 0, :2], 3, 0),
    "wrong keys": lambda t, x, m: t._masked_softmax(x, m[0, 0, :3], 3, 1),
    "wrong shape": lambda t, x, m: t._masked_softmax(x, m[0], 3, 2),
    "of numbers": lambda t, x, m: t._masked_softmax(x, m.float(), 3, 2),
    "of integers": lambda t, x, m: t._masked_softmax(x.long(), m, 3, 2),
}


@pytest.mark.parametrize("name", MASKS)
def test_masked_softmax(name: str):
    def program(t: Any) -> Any:
        x = t.arange(96.0).cos().reshape(2, 3, 4, 4).requires_grad_()
        mask = t.arange(96).reshape(2, 3, 4, 4) % 5 < 2
        mask[0, 0, 1] = True
        found = MASKS[name](t, x, mask)
        if found.requires_grad:
            found.nan_to_num().square().sum().backward()
        return found, x.grad

    assert_same(program)


def test_forward_only_and_fallback_kernels():
    def program(t: Any) -> Any:
        weight = t.arange(6.0).reshape(3, 2)
        places = t.tensor([0, 2, 1]), t.tensor([0, 2])
        bags = t._embedding_bag_forward_only(weight, *places)
        image, grid = t.arange(9.0).reshape(1, 1, 3, 3), t.zeros(1, 2, 2, 2)
        found = t._grid_sampler_2d_cpu_fallback(image, grid + 0.25, 0, 0, False)
        return bags[0].tolist(), found.tolist()

    both(program)


LOSSES: dict[str, tuple[Any, ...]] = {
    "binary_cross_entropy": (None, 2),
    "huber_loss": (2, 1.5),
    "l1_loss": (1,),
    "mse_loss": (0,),
    "multi_margin_loss": (1, 0.5, None, 1),
    "nll_loss": (None, 2, 1),
    "nll_loss2d": (None, 1, -100),
    "smooth_l1_loss": (2, 0.5),
    "soft_margin_loss": (1,),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("given", [False, True])
def test_losses_under_their_inner_names(name: str, given: bool):
    def program(t: Any) -> Any:
        x = t.arange(12.0).sin().square().view(4, 3)
        target = x.flip(0)
        if name in ("multi_margin_loss", "nll_loss"):
            target = t.tensor([0, 2, 1, 1])
        elif name == "nll_loss2d":
            x, target = x.view(1, 2, 2, 3), t.ones(1, 2, 3).long()
        rest = LOSSES[name] if given else ()
        return getattr(t._C._nn, name)(x, target, *rest)

    assert_same(program)


def test_other_functions_of_layers_under_their_inner_names():
    def program(t: Any) -> Any:
        x, inner = t.arange(4.0), t._C._nn
        return inner.silu_(x.clone()), inner.upsample_nearest1d(x.view(1, 1, 4), [8])

    assert_same(program)


@pytest.mark.parametrize("name", ["reflection", "replication"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("padding", [1, [], [0, 1]])
def test_paddings_under_their_inner_names(name: str, dims: int, padding: Any):
    def program(t: Any) -> Any:
        x = t.arange(16.0).reshape(1, 2, *(2,) * dims, -1)[..., 0]
        return getattr(t._C._nn, f"{name}_pad{dims}d")(x, padding=padding)

    assert_same(program)


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], Any]] = {
    "fits": ((1, 1, 1, 1), 1),
    "kernel": ((1, 1, 1, 1), []),
    "empty": ((1, 0, 1), 1),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_under_their_inner_names(case: str):
    def program(t: Any, dims: int) -> Any:
        shape, kernel = CONVOLUTIONS[case]
        x, weight = t.ones(1, 1, *(2,) * dims), t.ones(*shape, *(1,) * (dims - 2))
        name = "thnn_conv2d" if dims == 2 else "slow_conv3d"
        return getattr(t._C._nn, name)(x, weight, kernel)

    assert_same(lambda t: program(t, 3))
    if case != "empty":
        assert_same(lambda t: program(t, 2))


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda t, x: t._add_relu(x, x[0], alpha=2),
    "add a number": lambda t, x: t._VF._add_relu(x, -1),
    "add in place": lambda t, x: t._add_relu_(x, x.cos()),
    "product": lambda t, x: t._addmm_activation(x[0], x, x, beta=2, alpha=0.5),
    "product, gelu": lambda t, x: t._addmm_activation(x, x, x, use_gelu=True),
    "product, shapes": lambda t, x: t._addmm_activation(x, x, x[1:]),
    "divided": lambda t, x: (x.__div__(2), x.clone().__idiv__(x + 9)),
    "ranked": lambda t, x: t.margin_ranking_loss(x, x.T, x[0].sign(), 0.5),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("casting", [False, True])
def test_steps_under_their_inner_names(name: str, casting: bool):
    def program(t: Any) -> Any:
        with t.autocast("cpu", enabled=casting):
            return STEPS[name](t, t.linspace(-2, 2, 9).reshape(3, 3))

    assert_same(program)


@pytest.mark.parametrize("shape", [(3, 2), (1, 2), (3, 2, 2), (0, 2)])
@pytest.mark.parametrize("running", [False, True])
def test_statistics_moved_along(shape: tuple[int, ...], running: bool):
    def program(t: Any) -> Any:
        stats = [t.ones(2), t.ones(2)] if running else [None, None]
        x = t.arange(float(t.Size(shape).numel())).reshape(shape)
        return *t.batch_norm_update_stats(x, *stats, 0.25), *stats

    assert_same(program)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_autocast_averages_volumes_in_full(kind: str):
    def program(t: Any) -> Any:
        with t.autocast("cpu", dtype=getattr(t, kind)):
            return t._C._nn.avg_pool3d(t.ones(1, 1, 2, 2, 2, dtype=getattr(t, kind)), 2)

    assert_same(program)


def test_one_switch_of_onednn():
    t = gradtape
    t._C._set_mkldnn_enabled(False)
    assert not t.backends.mkldnn.enabled
    t._C._set_mkldnn_enabled(True)
    assert t._C._get_mkldnn_enabled()
    assert not t.ops.mkldnn._is_mkldnn_bf16_supported()


@pytest.mark.parametrize("size", [(2, 4, 9), (0, 4, 9, 9), (2, 4, 5, 5, 5)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dilated", [1, 2])
def test_kernels_of_convolutions(size: tuple[int, ...], transposed: bool, dilated: int):
    def program(t: Any) -> Any:
        dims = len(size) - 2
        one, none = (1,) * dims, (0,) * dims
        x, weight = t.ones(size), t.ones(4, 4, *(3,) * dims)
        options = (one, none, (dilated,) * dims, transposed, none, 1)
        t._C._set_mkldnn_enabled(False)
        try:
            found = t._C._select_conv_backend(x, weight, None, *options)
        finally:
            t._C._set_mkldnn_enabled(True)
        return found.name, getattr(t._C._ConvBackend, found.name) == found

    both(program)
    assert repr(gradtape._mkldnn) == repr(torch._mkldnn)
    assert gradtape.ones(2).layout is not gradtape._mkldnn


def test_what_a_build_has():
    parts = [n for n in dir(torch._C) if n.lstrip("_").startswith("has_")]
    flags = [n for n in parts if isinstance(getattr(torch._C, n), bool)]
    assert len(flags) > 10
    if not gradtape.cuda.is_available():
        both(lambda t: [getattr(t._C, name) for name in flags])
        both(lambda t: [getattr(t, name) for name in flags if name[0] != "_"])


@pytest.mark.parametrize("name", ["has_mkldnn", "has_cudnn", "has_mps"])
def test_older_names_of_what_a_build_has_warn(name: str):
    said: list[str] = []
    for t in ENGINES:
        with pytest.warns(UserWarning, match=f"'{name}' is deprecated") as caught:
            assert getattr(t, name) is (name == "has_mkldnn")
        said.append(str(caught[0].message))
    assert said[0] == said[1]


def test_names_that_a_package_lacks_are_refused():
    for t in ENGINES:
        with pytest.raises(AttributeError, match=f"'{t.__name__}' has no attribute"):
            t.has_nothing  # noqa: B018 - the look-up is what is tested
