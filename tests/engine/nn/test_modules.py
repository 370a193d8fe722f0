"""Modules behave as PyTorch's: registration, state, conversion, hooks, containers."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import gradtape as gt
from gradtape import nn

from ..oracle import assert_same


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
        lambda t, m: m.add_module("a", OrderedDict),
        lambda t, m: m.register_buffer("a", len),
        lambda t, m: t.nn.Sequential(OrderedDict),
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
