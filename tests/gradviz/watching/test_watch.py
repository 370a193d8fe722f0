"""gradviz.watch(): what it sees of a training, on both engines, without a trace."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import pytest

import gradtape
import gradviz
from gradviz import ir
from gradviz.errors import CaptureError
from gradviz.ir.validate import validate


def model(lib: Any, *, frozen: bool = False) -> Any:
    lib.manual_seed(3)
    nn = lib.nn
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    if frozen:
        net[0].requires_grad_(False)
    return net


def train(lib: Any, net: Any, optimizer: Any, steps: int, passes: int = 1) -> None:
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(passes):
            x = lib.linspace(-1.0, 1.0, 12).reshape(4, 3) + 0.1 * (step + part)
            net(x).pow(2).mean().backward()
        optimizer.step()


def watched(lib: Any, net: Any, optimizer: Any = None, **options: Any) -> Any:
    said: list[str] = []
    options = {"every": 1, "page": None, "say": said.append, **options}
    found = gradviz.watch(net, optimizer, **options)
    found.said = said
    return found


def test_norms_and_updates_are_those_of_the_optimizer(lib: Any):
    net = model(lib)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.5)
    want: list[tuple[float, float, float]] = []
    with watched(lib, net, optimizer) as seen:
        for step in range(3):
            weight = net[2].weight
            optimizer.zero_grad()
            net(lib.ones(4, 3) * (step + 1)).pow(2).mean().backward()
            norm = float(weight.grad.norm())
            want.append((norm, float(weight.detach().norm()), 0.5 * norm))
            optimizer.step()
    flow = seen.history
    assert [layer.name for layer in flow.layers] == [
        "0.weight",
        "0.bias",
        "2.weight",
        "2.bias",
    ]
    assert [layer.kind for layer in flow.layers] == ["Linear"] * 4
    assert {layer.optimizer for layer in flow.layers} == {"SGD"}
    assert flow.numbers == [0, 1, 2]
    assert all(step.stepped and step.learning_rate == 0.5 for step in flow.steps)
    for point, (norm, weight, update) in zip(flow.points[2], want, strict=True):
        assert point is not None
        assert point.norm == pytest.approx(norm, rel=1e-6)
        assert point.weight_norm == pytest.approx(weight, rel=1e-6)
        assert point.update_norm == pytest.approx(update, rel=1e-5)
    assert flow.histogram(0, 0) is not None
    validate(seen.snapshot())


def test_results_are_bit_equal(lib: Any):
    def run(watch: bool) -> list[Any]:
        net = model(lib)
        optimizer = lib.optim.Adam(net.parameters(), lr=0.1)
        handle = watched(lib, net, optimizer) if watch else None
        train(lib, net, optimizer, 6, passes=2)
        drawn = lib.rand(3)
        if handle is not None:
            assert handle.steps == 6
            handle.close()
        return [*net.parameters(), *(each.grad for each in net.parameters()), drawn]

    for one, two in zip(run(True), run(False), strict=True):
        assert lib.equal(one, two)


def test_nothing_of_the_users_stays_alive_or_hooked(lib: Any):
    net = model(lib)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    seen = watched(lib, net, optimizer)
    train(lib, net, optimizer, 2)
    alive = [weakref.ref(each) for each in (net, optimizer, net[0].weight)]
    parameters = list(net.parameters())
    seen.close()
    assert all(not each._backward_hooks for each in parameters)
    assert all(not each._post_accumulate_grad_hooks for each in parameters)
    del net, optimizer, parameters
    gc.collect()
    assert [each() for each in alive] == [None] * 3
    assert seen.history.norms.shape == (4, 2), "the history stays"


def test_a_model_that_is_gone_is_let_go_while_watched(lib: Any):
    net = model(lib)
    seen = watched(lib, net)
    alive = weakref.ref(net)
    del net
    gc.collect()
    assert alive() is None
    seen.close()


def test_accumulated_clipped_and_frozen_gradients(lib: Any):
    net = model(lib, frozen=True)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    with watched(lib, net, optimizer) as seen:
        for _ in range(3):
            optimizer.zero_grad()
            for _ in range(2):
                net(lib.ones(4, 3) * 50).pow(2).sum().backward()
            lib.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
    norms = seen.history.norms
    assert [math.isnan(norm) for norm in norms[:, 0]] == [True, True, False, False]
    assert float((norms[2:, 0] ** 2).sum()) == pytest.approx(1.0, rel=1e-4)
    assert seen.steps == 3
    assert seen.findings == ()


def test_nan_is_said_at_once_with_parameter_and_step(lib: Any):
    net = model(lib)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    with watched(lib, net, optimizer, every=1_000) as seen:
        train(lib, net, optimizer, 20)
        optimizer.zero_grad()
        (net(lib.ones(4, 3)).sum() * math.nan).backward()
        optimizer.step()
        train(lib, net, optimizer, 4)
    (finding,) = seen.findings
    assert finding.code == "GV414"
    assert finding.severity == "error"
    assert "the gradient of `0.weight`, `0.bias`, `2.weight` and 1 more" in (
        finding.message
    )
    step = int(finding.message.split()[2])
    assert 20 <= step <= 24
    assert len(seen.said) == 1
    assert seen.said[0].startswith(f"GV414 nan-born-here: At step {step} the gradient")
    assert seen.history.bad[:, -1].tolist() == [15, 5, 10, 2]


def test_trouble_is_said_once(lib: Any):
    net = model(lib)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.0)
    unused = lib.nn.Linear(2, 2)
    net.extra = unused  # not in forward, but the optimizer has it
    optimizer.add_param_group({"params": list(unused.parameters()), "lr": 0.0})
    with watched(lib, net, optimizer) as seen:
        for step in range(14):
            optimizer.zero_grad()
            out = net[2](net[1](net[0](lib.ones(4, 3))))
            out.pow(2).mean().backward()
            if step >= 8:
                net[0].weight.grad.mul_(1e-9)
                net[0].bias.grad.mul_(0.0)
                net[2].weight.grad.mul_(1e3)
            optimizer.step()
    found = {finding.slug: finding.message for finding in seen.findings}
    assert len(found) == len(seen.findings) == len(seen.said) == 4
    assert found["unused-submodule"] == (
        "Since step 0 `extra.weight`, `extra.bias` got no gradient, while others did."
    )
    assert (
        "At step 9 the gradient of `2.weight` explodes" in found["exploding-gradient"]
    )
    assert "step 8 the gradient of `0.weight` vanishes" in found["vanishing-gradient"]
    assert "step 8 the gradient of `0.bias` is exactly 0" in found["dead-relu"]
    assert [each.code for each in seen.diagnose().findings] == [
        each.code for each in seen.findings
    ]


def test_several_optimizers_share_the_steps(lib: Any):
    net = model(lib)
    first = lib.optim.SGD(net[0].parameters(), lr=0.1)
    second = lib.optim.Adam(net[2].parameters(), lr=0.1)
    with watched(lib, net, [first, second]) as seen:
        for _ in range(3):
            net(lib.ones(4, 3)).pow(2).mean().backward()
            first.step()
            second.step()
    flow = seen.history
    assert flow.numbers == [0, 1, 2]
    assert not any(map(math.isnan, flow.norms.ravel().tolist()))
    assert [each.optimizer for each in flow.layers] == ["SGD", "SGD", "Adam", "Adam"]


def test_a_closure_computes_the_gradients_that_are_read(lib: Any):
    net = model(lib)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = net(lib.ones(4, 3)).pow(2).mean()
        loss.backward()
        return loss

    with watched(lib, net, optimizer) as seen:
        for _ in range(2):
            optimizer.step(closure)
    norms = seen.history.norms
    assert norms[2, 1] == pytest.approx(float(net[2].weight.grad.norm()), rel=1e-6)
    assert (norms > 0).all()


def test_a_loop_without_optimizer_counts_its_passes(lib: Any):
    net = model(lib)
    norms: list[float] = []
    with watched(lib, net) as seen:
        for _ in range(5):
            for parameter in net.parameters():
                parameter.grad = None
            net(lib.ones(4, 3)).pow(2).mean().backward()
            norms.append(float(net[0].weight.grad.norm()))
            with lib.no_grad():
                for parameter in net.parameters():
                    parameter -= 0.5 * parameter.grad
    flow = seen.history
    assert seen.steps == 5
    assert flow.numbers == [1, 2, 3, 4], "the first pass shows which gradient is last"
    assert flow.norms[0].tolist() == pytest.approx(norms[1:], rel=1e-6)
    updates = [point and point.update_norm for point in flow.points[0]]
    assert updates[:3] == pytest.approx([0.5 * norm for norm in norms[1:4]], rel=1e-4)
    assert not any(step.stepped for step in flow.steps)


def test_a_model_may_change_while_watched(lib: Any):
    net = model(lib, frozen=True)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    with watched(lib, net, optimizer) as seen:
        train(lib, net, optimizer, 2)
        net[0].requires_grad_(True)  # unfrozen
        train(lib, net, optimizer, 2)
        net.append(lib.nn.Linear(2, 2))
        optimizer.add_param_group({"params": list(net[3].parameters())})
        train(lib, net, optimizer, 2)
        del net[3]
        train(lib, net, optimizer, 2)
    flow = seen.history
    known = [[not math.isnan(norm) for norm in row] for row in flow.norms]
    assert known[0] == [False] * 2 + [True] * 6
    assert known[2] == [True] * 8
    assert flow.layers[4].name == "3.weight"
    assert known[4] == [False] * 4 + [True] * 2 + [False] * 2


def test_what_fails_in_a_watch_ends_it_and_not_the_training(
    lib: Any, monkeypatch: pytest.MonkeyPatch
):
    net = model(lib)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    seen = watched(lib, net, optimizer)
    train(lib, net, optimizer, 1)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(seen._reader, "gradients", broken)
    train(lib, net, optimizer, 3)
    (sentence,) = seen.said
    assert "failed: ZeroDivisionError: a bug of ours. The training goes on." in sentence
    assert not seen.open
    assert sentence in seen.snapshot().notes
    seen.close()
    assert len(seen.history.steps) == 1


def test_only_modules_are_watched():
    with pytest.raises(CaptureError, match="expected a module of PyTorch or gradtape"):
        gradviz.watch([1, 2])
    with pytest.raises(ValueError, match="at least 1, not 0"):
        gradviz.watch(model(gradtape), every=0)
    with pytest.raises(ValueError, match="overhead is a share"):
        gradviz.watch(model(gradtape), overhead=0)


def test_it_shows_itself(lib: Any):
    net = model(lib)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    with watched(lib, net, optimizer, title="my net") as seen:
        train(lib, net, optimizer, 6)
        seen._alarms.findings.append(ir.Finding("GV1", "x", "error", "Bad."))
    text = repr(seen)
    assert text.startswith("my net (")
    assert "4 parameters at 6 of the steps 0 to 5" in text
    assert "2.weight" in text
    bundle = seen._repr_mimebundle_()
    assert bundle["text/plain"] == text
    assert len(bundle["application/vnd.gradviz+json"]["flow"]) == 24
    assert "iframe" in bundle["text/html"], "the page, not the card of a failed cell"
    assert seen.plot("update_ratio").data[0].name == "0.weight"
    with pytest.raises(ValueError, match="no figure 'pie'"):
        seen.plot("pie")
