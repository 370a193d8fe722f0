"""Modules behave as PyTorch's: registration, state, conversion, hooks, containers."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import gradtape as gt
from gradtape import nn
from gradtape._mode import mode

from .oracle import assert_same


def small(t: Any) -> Any:
    t.manual_seed(0)
    return t.nn.Sequential(
        OrderedDict(
            first=t.nn.Linear(3, 4),
            norm=t.nn.BatchNorm1d(4),
            act=t.nn.ReLU(),
            last=t.nn.Linear(4, 2),
        )
    )


def refused(action: Any) -> Any:
    """Make a program of an action on a module, which both engines should refuse."""

    def program(t: Any) -> Any:
        return action(t, small(t))

    return program


# ---- registration ----


def test_attributes_register_in_order() -> None:
    def program(t: Any) -> Any:
        class Net(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.b = t.nn.Parameter(t.ones(2))
                self.a = t.nn.Linear(2, 2)
                self.register_buffer("seen", t.zeros(1))
                self.register_buffer("hidden", t.zeros(1), persistent=False)
                self.kept = t.nn.Buffer(t.ones(1))
                self.none = None
                self.register_parameter("empty", None)

        net = Net()
        net.b = None
        net.seen = t.ones(1)
        del net.kept
        return [
            [name for name, _ in net.named_parameters()],
            [name for name, _ in net.named_buffers()],
            [name for name, _ in net.named_modules()],
            list(net.state_dict()),
            sorted(net._parameters),
            "a" in dir(net),
        ]

    assert_same(program)


@pytest.mark.parametrize(
    "action",
    [
        lambda t, m: setattr(m.first, "weight", t.ones(2)),
        lambda t, m: setattr(m, "first", 3),
        lambda t, m: setattr(m.norm, "running_mean", "x"),
        lambda t, m: m.register_parameter("a.b", None),
        lambda t, m: m.register_parameter("", None),
        lambda t, m: m.register_parameter("training", None),
        lambda t, m: m.register_parameter("p", t.ones(1)),
        lambda t, m: m.register_parameter("p", t.nn.Parameter(t.ones(1)) * 2),
        lambda t, m: m.register_parameter(3, None),
        lambda t, m: m.register_buffer("a.b", None),
        lambda t, m: m.register_buffer("first", t.ones(1)),
        lambda t, m: m.register_buffer("b", 3),
        lambda t, m: m.add_module("a.b", None),
        lambda t, m: m.add_module("", None),
        lambda t, m: m.add_module("x", 3),
        lambda t, m: m.add_module("training", t.nn.ReLU()),
        lambda t, m: m.missing,
        lambda t, m: m.get_submodule("first.x"),
        lambda t, m: m.get_submodule("first.weight"),
        lambda t, m: m.get_parameter("first.in_features"),
        lambda t, m: m.get_parameter("norm.running_mean"),
        lambda t, m: m.get_buffer("first.weight"),
        lambda t, m: m.train(3),
        lambda t, m: m.to(t.int64),
        lambda t, m: t.nn.Module(3),
        lambda t, m: t.nn.Module(x=3),
        lambda t, m: t.nn.Module()(3),
        lambda t, m: t.nn.Dropout(2),
        lambda t, m: t.nn.Conv2d(3, 4, 3, groups=2),
        lambda t, m: t.nn.Conv2d(3, 4, 3, padding="same", stride=2),
        lambda t, m: t.nn.GroupNorm(2, 3),
        lambda t, m: t.nn.BatchNorm2d(3)(t.ones(2, 3)),
        lambda t, m: t.nn.BatchNorm1d(3)(t.ones(1, 3)),
        lambda t, m: t.nn.Embedding(3, 2, padding_idx=5),
        lambda t, m: t.nn.MultiMarginLoss(p=3),
        lambda t, m: t.nn.TripletMarginLoss(margin=-1),
        lambda t, m: t.nn.Unflatten(1, "x"),
        lambda t, m: m.load_state_dict(3),
        lambda t, m: m.load_state_dict({}),
        lambda t, m: m.load_state_dict({**m.state_dict(), "extra": t.ones(1)}),
        lambda t, m: m.load_state_dict({**m.state_dict(), "first.bias": t.ones(3)}),
        lambda t, m: m.load_state_dict({**m.state_dict(), "first.bias": 3}),
        lambda t, m: m[7],
        lambda t, m: m + 3,
        lambda t, m: t.nn.ModuleList(3),
        lambda t, m: t.nn.ModuleList([m])[1],
        lambda t, m: t.nn.ModuleDict([("a",)]),
        lambda t, m: t.nn.ModuleDict(3),
        lambda t, m: t.nn.ParameterList([t.ones(1)])(),
        lambda t, m: t.nn.ParameterDict({1: t.ones(1)}),
    ],
)
def test_refusals_are_pytorchs(action: Any) -> None:
    assert_same(refused(action))


def test_assigning_before_init_is_refused() -> None:
    def program(t: Any) -> Any:
        class Net(t.nn.Module):
            def __init__(self) -> None:
                self.layer = t.nn.Linear(1, 1)

        return Net()

    assert_same(program)


# ---- state ----


def test_state_dict_round_trip() -> None:
    def program(t: Any) -> Any:
        source, target = small(t), small(t)
        source(t.ones(5, 3))
        with t.no_grad():
            for p in source.parameters():
                p.mul_(2)
        result = target.load_state_dict(source.state_dict())
        return [repr(result), dict(target.state_dict()), source.state_dict()._metadata]

    assert_same(program)


def test_state_dict_shares_memory_and_loading_bumps_the_version() -> None:
    net = small(gt)
    state = net.state_dict()
    assert state["first.weight"].data_ptr() == net.first.weight.data_ptr()
    before = net.first.weight._version
    net.load_state_dict(copy.deepcopy(state))
    assert net.first.weight._version == before + 1


def test_lenient_loading_reports_keys() -> None:
    def program(t: Any) -> Any:
        net = small(t)
        state = net.state_dict()
        del state["last.bias"]
        state["more"] = t.ones(1)
        found = net.load_state_dict(state, strict=False)
        return [found.missing_keys, found.unexpected_keys, repr(found)]

    assert_same(program)


def test_assign_replaces_parameters() -> None:
    def program(t: Any) -> Any:
        net = small(t)
        weight = t.zeros(4, 3)
        state = {**net.state_dict(), "first.weight": weight}
        net.load_state_dict(state, assign=True)
        kept = net.first.weight
        shared = kept.data_ptr() == weight.data_ptr()
        return [kept, type(kept).__name__, shared]

    assert_same(program)


def test_extra_state_is_saved_and_loaded() -> None:
    def program(t: Any) -> Any:
        class Net(t.nn.Module):
            extra = 1

            def get_extra_state(self) -> Any:
                return {"extra": self.extra}

            def set_extra_state(self, state: Any) -> None:
                self.extra = state["extra"] + 1

        net = Net()
        net.load_state_dict(net.state_dict())
        return [net.extra, list(net.state_dict())]

    assert_same(program)


def test_state_hooks_run_in_order() -> None:
    def program(t: Any) -> Any:
        net, seen = small(t), []
        net.register_state_dict_pre_hook(lambda *a: seen.append("save"))
        net.register_state_dict_post_hook(lambda *a: seen.append("saved"))
        net.register_load_state_dict_pre_hook(lambda *a: seen.append("load"))
        net.register_load_state_dict_post_hook(lambda *a: seen.append("loaded"))
        net.load_state_dict(net.state_dict())
        return seen

    assert_same(program)


# ---- conversion and copies ----


def test_conversion_keeps_the_parameter_objects() -> None:
    def program(t: Any) -> Any:
        net = small(t)
        net(t.ones(2, 3)).sum().backward()
        before = list(net.parameters())
        net.double()
        same = all(a is b for a, b in zip(before, net.parameters(), strict=True))
        kinds = {str(v.dtype) for v in net.state_dict().values()}
        grads = {str(p.grad.dtype) for p in net.parameters()}
        net.to(t.float32).half().float().cpu()
        return [same, sorted(kinds), sorted(grads), str(net.first.weight.dtype)]

    assert_same(program)


def test_deepcopy_and_pickle_keep_values_and_separate_memory() -> None:
    net = small(gt)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(twin) == repr(net)
        assert twin.first.weight is not net.first.weight
        assert twin.first.weight.tolist() == net.first.weight.tolist()
        assert isinstance(twin.first.weight, nn.Parameter)
        assert twin.first.weight.requires_grad
        with gt.no_grad():
            twin.first.weight.zero_()
        assert net.first.weight.abs().sum().item() > 0


def test_training_switches_reach_all_modules() -> None:
    def program(t: Any) -> Any:
        net = small(t).eval()
        flags = [m.training for m in net.modules()]
        net.requires_grad_(False)
        names = []
        net.apply(lambda m: names.append(type(m).__name__))
        return [flags, [p.requires_grad for p in net.parameters()], names]

    assert_same(program)


def test_zero_grad_drops_or_fills() -> None:
    def program(t: Any) -> Any:
        net = small(t)
        net(t.ones(2, 3)).sum().backward()
        net.zero_grad(set_to_none=False)
        filled = [p.grad for p in net.parameters()]
        net.zero_grad()
        return [filled, [p.grad for p in net.parameters()]]

    assert_same(program)


def test_shared_parameters_are_listed_once() -> None:
    def program(t: Any) -> Any:
        net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 2))
        net[1].weight = net[0].weight
        listed = [n for n, _ in net.named_parameters()]
        every = [n for n, _ in net.named_parameters(remove_duplicate=False)]
        return [listed, every, list(net.state_dict())]

    assert_same(program)


# ---- hooks ----


def test_forward_hooks_change_arguments_and_output() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.Linear(2, 2)
        t.nn.init.ones_(layer.weight)
        t.nn.init.zeros_(layer.bias)
        seen: list[str] = []

        def before(module: Any, args: Any, kwargs: Any) -> Any:
            seen.append(f"before {len(args)} {sorted(kwargs)}")
            return (args[0] * 2,), kwargs

        layer.register_forward_pre_hook(before, with_kwargs=True)
        layer.register_forward_pre_hook(lambda m, a: seen.append("first"), prepend=True)
        handle = layer.register_forward_hook(lambda m, a, out: out + 1)
        result = [layer(t.ones(1, 2))]
        handle.remove()
        result.append(layer(t.ones(1, 2)))
        return [result, seen]

    assert_same(program)


def test_hooks_called_always_run_after_errors() -> None:
    def program(t: Any) -> Any:
        layer, seen = t.nn.Linear(2, 2), []
        layer.register_forward_hook(
            lambda m, a, out: seen.append(out is None), always_call=True
        )
        try:
            layer(t.ones(1, 3))
        except RuntimeError as error:
            seen.append(str(error))
        return seen

    assert_same(program)


def test_full_backward_hooks_see_and_change_gradients() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer, seen = t.nn.Linear(2, 3), []
        layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))

        def after(module: Any, grad_input: Any, grad_output: Any) -> Any:
            seen.extend([*grad_input, *grad_output])
            return (grad_input[0] + 1,)

        layer.register_full_backward_hook(after)
        x = t.ones(2, 2, requires_grad=True)
        layer(x).sum().backward()
        return [seen, x.grad, layer.weight.grad]

    assert_same(program)


def test_full_backward_hooks_without_input_gradients() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer, seen = t.nn.Linear(2, 3), []
        layer.register_full_backward_hook(
            lambda m, gi, go: seen.append([gi, go[0].tolist()])
        )
        layer(t.ones(2, 2)).sum().backward()
        return seen

    assert_same(program)


def test_both_kinds_of_backward_hooks_are_refused() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.Linear(2, 3)
        layer.register_full_backward_hook(lambda m, gi, go: None)
        layer.register_backward_hook(lambda m, gi, go: None)

    assert_same(program)


# ---- scopes ----


def test_nodes_know_the_modules_they_were_recorded_in() -> None:
    net = nn.Sequential(OrderedDict(body=nn.Sequential(nn.Linear(2, 2)), end=nn.Tanh()))
    out = net(gt.ones(1, 2))
    node = out.grad_fn
    assert node is not None
    assert node.scope is not None
    assert node.scope.name == "end"
    inner = node.next_functions[0][0]
    assert inner is not None
    names, scope = [], inner.scope
    while scope is not None:
        names.append(scope.name)
        scope = scope.parent
    assert names == ["0", "body", "Sequential"]


def test_two_calls_of_one_module_are_two_scopes() -> None:
    layer = nn.Linear(2, 2)
    first, second = layer(gt.ones(1, 2)).grad_fn, layer(gt.ones(1, 2)).grad_fn
    assert first is not None
    assert second is not None
    assert first.scope is not second.scope


def test_scope_is_restored_after_an_error() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        layer(gt.ones(1, 3))
    assert mode.scope is None


def test_observers_see_modules_enter_and_leave() -> None:
    net, seen = nn.Sequential(nn.ReLU()), []
    with gt.observe(lambda e: seen.append((type(e).__name__, e))):
        net(gt.ones(1))
    names = [
        f"{name} {event.scope.kind}"
        for name, event in seen
        if name.startswith("Module")
    ]
    assert names == [
        "ModuleEntered Sequential",
        "ModuleEntered ReLU",
        "ModuleLeft ReLU",
        "ModuleLeft Sequential",
    ]


# ---- containers ----


def test_sequential_behaves_as_a_list() -> None:
    def program(t: Any) -> Any:
        nn = t.nn
        net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
        parts = [repr(net[1:]), repr(net[-1]), len(net), repr(net + net), repr(net * 2)]
        net.append(nn.ELU())
        net.insert(1, nn.GELU())
        net.extend([nn.SELU()])
        parts.append(repr(net))
        del net[0]
        parts += [repr(net), repr(net.pop(-1)), repr(net)]
        net[0] = nn.Identity()
        net += nn.Sequential(nn.Mish())
        return [*parts, repr(net)]

    assert_same(program)


def test_lists_and_dicts_of_modules() -> None:
    def program(t: Any) -> Any:
        nn = t.nn
        listed = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
        listed.insert(0, nn.ReLU())
        listed += [nn.Tanh()]
        parts = [repr(listed), repr(listed[1:3]), len(listed + listed)]
        named = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
        named.update([("c", nn.Sigmoid())])
        named.pop("b")
        return [*parts, repr(named), list(named.keys()), "a" in named, len(named)]

    assert_same(program)


def test_lists_and_dicts_of_parameters() -> None:
    def program(t: Any) -> Any:
        nn = t.nn
        listed = nn.ParameterList([t.ones(2), t.zeros(1)])
        listed.append(t.ones(3))
        listed[0] = t.zeros(2)
        named = nn.ParameterDict({"b": t.ones(1), "a": t.zeros(1)})
        named.update({"c": t.ones(2)})
        merged = named | nn.ParameterDict({"d": t.ones(1)})
        popped = named.popitem()
        return [
            repr(listed),
            repr(listed[1:]),
            len(listed),
            repr(named),
            popped[0],
            list(merged.keys()),
            [n for n, _ in listed.named_parameters()],
            named.setdefault("z", t.ones(1)),
            named.get("q"),
        ]

    assert_same(program)
