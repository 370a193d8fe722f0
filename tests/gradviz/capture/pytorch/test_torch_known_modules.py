"""Modules that a log knows by heart: it says of them what a closer look says."""

from __future__ import annotations

import contextlib
import gc
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest

from gradviz._capture.adapters.pytorch import calls
from gradviz._capture.adapters.pytorch.log import TorchLog
from gradviz._capture.adapters.pytorch.pass_cache import PassCache
from gradviz._capture.adapters.pytorch.pass_preview import PassPreview
from gradviz.program.events import Call, ModuleCall

torch = pytest.importorskip("torch")
nn = torch.nn

_STEPS = 8  # the first of a kind are looked at closely
_ROWS = torch.arange(6) % 3
_LONG = 30  # some are known after these


def _log(quick: bool = True) -> TorchLog:
    if quick:
        return TorchLog(scan=False)
    with patch.object(calls, "fast_path_of", lambda *parts: lambda *call: False):
        log = TorchLog(scan=False)
    log.loop.modules.fast_path = None
    log.fresh_output = lambda tensor, *call: log.values.made(tensor)
    return log


def _calls(log: TorchLog) -> list[Call]:
    return [each for each in log.program.events if isinstance(each, Call)]


def _told(log: TorchLog, first: int) -> list[str]:
    """Return all events in words, with nodes counted from the first of the run."""

    def number(found: re.Match[str]) -> str:
        return re.sub(r"(?<![-\d])\d+", lambda key: str(int(key[0]) - first), found[0])

    nodes = re.compile(r"\bnode=\d+|\bnodes=\([^)]*\)")
    told = *log.program.events, *[node.saved for node in log.program.nodes.values()]
    return [nodes.sub(number, repr(each)) for each in told]


def _mlp(x: Any, y: Any) -> Iterator[Any]:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loss = nn.CrossEntropyLoss()
    while True:
        optimizer.zero_grad()
        yield loss(net(x), y)
        optimizer.step()


def _images(x: Any, y: Any) -> Iterator[Any]:
    body = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(16),
        nn.GELU(),
        nn.Linear(16, 3),
    )
    loss = nn.MSELoss()
    for step in range(_STEPS):
        body.train(step % 3 > 0)
        rows = 6 if step % 2 else 4  # the last batch of an epoch is smaller
        images = x.repeat(1, 4)[:rows].reshape(rows, 1, 4, 4)
        yield loss(body(images), torch.eye(3)[y][:rows])


def _words(x: Any, y: Any) -> Iterator[Any]:
    table, layer = nn.Embedding(5, 6), nn.Bilinear(6, 6, 3)
    positions = nn.Parameter(torch.zeros(6))
    while True:
        words = table(y) + positions
        with torch.no_grad():
            table(y)
        yield nn.functional.nll_loss(layer(words, words).log_softmax(-1), y)


def _rows(x: Any, y: Any) -> Iterator[Any]:
    """Make linear layers of three dimensions, whose results are views."""
    first, second = nn.Linear(4, 4), nn.Linear(4, 2, bias=False)
    heads = x.reshape(2, 3, 4)
    while True:
        hidden = first(heads)
        parts = second(hidden + heads).chunk(2, dim=-1)
        hidden.detach()[0].mul_(1)
        yield (parts[0] * parts[1]).mean() + first(hidden.transpose(0, 1)).mean()


def _stack(x: Any, y: Any) -> Iterator[Any]:
    """Run Sequentials that share a module, lie in one another, and are changed."""
    act = nn.Tanh()
    first = nn.Sequential(nn.Linear(4, 4), act, nn.Linear(4, 4, bias=False), act)
    body = nn.Sequential(nn.Linear(4, 4), first, nn.Sequential(), nn.LayerNorm(4))
    for step in range(_LONG):
        if step == 9:
            first[1] = nn.ReLU()
        if step == 11:
            first.append(nn.Dropout(0.5))
        if step == 13:
            first[4].eval()
        if step == 15:
            first[0].register_forward_hook(lambda module, args, output: output * 2)
        if step == 17:
            first[2].weight = nn.Parameter(torch.eye(4))
        hidden = nn.Sequential(first[0], act)(body(x))  # another one at each step
        with torch.no_grad():
            first(x)
        yield nn.functional.cross_entropy(hidden, y)


def _branches(x: Any, y: Any) -> Iterator[Any]:
    """Make other graphs of the same lines: what the calls are given differs."""
    a, b, c = nn.Linear(4, 3), nn.Linear(4, 3), nn.Linear(3, 3)
    kept = None
    for step in range(_LONG):
        layer = b if step % 4 == 3 else a
        left, right = layer(x), c(layer(x).relu())
        other = right.detach() if step % 5 == 4 else right
        loss = (left * other + right).log_softmax(-1)[torch.arange(6), y].mean()
        loss = loss + kept.sum() * 0 if kept is not None and step % 7 == 6 else loss
        kept = c.weight.exp() if step % 7 == 5 else kept
        yield loss


def _weights(x: Any, y: Any) -> Iterator[Any]:
    """Change what a known layer holds, from one step to the next."""
    layer, head = nn.Linear(4, 4), nn.Linear(4, 3)
    for step in range(_LONG):
        if step % 6 == 2:
            layer.weight.data = torch.ones(5, 4)[1:]
        if step % 6 == 3:
            layer.weight.requires_grad = step % 4 == 1
        if step % 6 == 4:
            nn.init.ones_(layer.weight)
        if step % 6 == 5:
            layer._parameters["weight"] = nn.Parameter(torch.eye(4))
        yield nn.functional.cross_entropy(head(layer(x)), y)


def _memory(x: Any, y: Any) -> Iterator[Any]:
    weight = nn.Parameter(torch.eye(4))
    while True:
        hidden = x @ weight
        heads = hidden.reshape(2, 3, 4).transpose(0, 1)[:, :1]
        wide = heads.expand_as(x.reshape(3, 2, 4)) @ weight
        left, right = wide.reshape(6, 4).unsafe_chunk(2)
        flat = (hidden + 1).view(-1)
        flat.detach()[:2].mul_(1)
        largest, _ = (left * hidden.to_sparse().to_dense()[:3] * right).max(dim=-1)
        yield largest.sum() + flat.sum() + hidden.sin().unbind()[1].exp().sum()


def _run(
    quick: bool, steps: Callable[[Any, Any], Iterator[Any]]
) -> tuple[TorchLog, int]:
    torch.manual_seed(0)
    first = torch._C._autograd._get_sequence_nr()
    x, y = torch.randn(6, 4), _ROWS
    with _log(quick) as log:
        for _, loss in zip(range(_LONG), steps(x, y), strict=False):
            loss.backward()
    assert not log.program.notes
    return log, first


_PROGRAMS = [_mlp, _images, _words, _rows, _stack, _branches, _weights, _memory]


@pytest.mark.parametrize("steps", _PROGRAMS)
def test_known_modules_are_told_as_any_others(
    steps: Callable[[Any, Any], Iterator[Any]],
) -> None:
    quick, close = [_told(*_run(quick, steps)) for quick in (True, False)]
    assert len(quick) == len(close)
    for ours, theirs in zip(quick, close, strict=True):
        assert ours == theirs


@pytest.mark.parametrize("steps", [_mlp, _words, _stack, _branches])
def test_passes_known_by_their_calls_are_told_as_those_that_were_walked(
    monkeypatch: pytest.MonkeyPatch, steps: Callable[[Any, Any], Iterator[Any]]
) -> None:
    walks, told = list[list[Any]](), list[list[str]]()
    walk = PassPreview._walk

    def counted(*given: Any) -> Any:
        walks[-1].append(given)
        return walk(*given)

    monkeypatch.setattr(PassPreview, "_walk", counted)
    for find in (PassCache.find, lambda *given: None):
        monkeypatch.setattr(PassCache, "find", find)
        walks.append([])
        told.append(_told(*_run(True, steps)))
    assert len(walks[0]) < len(walks[1])
    for ours, theirs in zip(*told, strict=True):
        assert ours == theirs


def test_a_sequential_of_known_modules_is_noted_as_one() -> None:
    torch.manual_seed(0)
    with _log() as log:
        for _, loss in zip(range(12), _mlp(torch.ones(6, 4), _ROWS), strict=False):
            loss.backward()
        kind, index = log.program.raw[-3][:2]
        assert (kind, log.program.raw[-2][1] - index) == ("run", 1 + 2 * 4)
        call = log.program.event(index + 2)
        assert isinstance(call, Call)
        assert (call.index, call.op) == (index + 2, "linear")
    assert [each.index for each in log.program.events] == list(range(log.next_index))


def test_most_modules_of_a_loop_pass_without_the_mode() -> None:
    log, _ = _run(True, _mlp)
    notes = [each for each in log.program.raw if type(each) is tuple]
    noted = [begun[0] for kind, _, begun, *_ in notes if kind == "call"]
    assert noted.count("linear") < _LONG
    assert len([call for call in _calls(log) if call.op == "linear"]) == 2 * _LONG


class _Late:
    """A linear layer and a ReLU, run until both are known."""

    def __init__(self) -> None:
        self.linear, self.relu = nn.Linear(3, 3), nn.ReLU()
        self.x = torch.ones(2, 3)

    def step(self) -> Any:
        hidden = self.relu(self.linear(self.x))
        hidden.sum().backward()
        return hidden

    def until_known(self) -> None:
        for _ in range(_STEPS):
            self.step()


def test_an_attribute_that_was_set_is_noted() -> None:
    late = _Late()
    late.relu = nn.LeakyReLU(0.1)
    with _log() as log:
        late.until_known()
        late.relu.negative_slope = 0.25
        late.step()
        late.relu.inplace = True
        late.linear.weight = nn.Parameter(torch.eye(3))
        late.relu(late.linear(late.x))
    calls = [call for call in _calls(log) if call.op == "leaky_relu"][-3:]
    assert [call.keywords["negative_slope"] for call in calls] == [0.1, 0.25, 0.25]
    assert calls[-1].writes


def test_hooks_on_a_known_module_are_seen() -> None:
    late = _Late()
    with _log() as log:
        late.until_known()
        late.relu.register_forward_hook(lambda module, args, output: output * 3)
        late.step()
    assert [call.op for call in _calls(log)][-4:-1] == ["linear", "relu", "mul"]


def test_a_hook_for_all_modules_is_seen() -> None:
    late, register = _Late(), nn.modules.module.register_module_forward_hook
    with _log() as log:
        late.until_known()
        handle = register(lambda module, args, output: output * 3)
        late.step()
        handle.remove()
    assert [call.op for call in _calls(log)].count("mul") == 2


def test_autocast_around_a_known_module_is_seen() -> None:
    late = _Late()
    with _log() as log:
        late.until_known()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            late.step()
    dtypes = [call.outputs[0].dtype for call in _calls(log) if call.op == "linear"]
    assert dtypes[-2:] == ["float32", "bfloat16"]


def test_nothing_is_learned_under_autocast() -> None:
    late = _Late()
    with _log() as log, torch.autocast("cpu", dtype=torch.bfloat16):
        late.until_known()
        assert id(late.linear) not in log.loop.modules.fast_path._table.rows


def test_a_known_module_that_raises_is_logged() -> None:
    loss, scores = nn.CrossEntropyLoss(), nn.Linear(3, 4)
    x, y = torch.ones(2, 3), torch.tensor([0, 1])
    with _log() as log:
        for _ in range(_STEPS):
            loss(scores(x), y).backward()
        with pytest.raises(IndexError, match="Target 9 is out of bounds"):
            loss(scores(x), torch.tensor([0, 9]))
        late = loss(scores(x), y)
    failed = [call for call in _calls(log) if call.error]
    assert [call.op for call in failed] == ["cross_entropy"]
    assert failed[0].inputs[1].shape == (2,)
    assert _calls(log)[-1].outputs[0].shape == late.shape == ()


def test_a_known_sequential_that_raises_is_logged_up_to_there() -> None:
    told: list[list[str]] = []
    for quick in (True, False):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(), nn.ReLU())
        x, first = torch.ones(2, 3), torch._C._autograd._get_sequence_nr()
        with _log(quick) as log:
            for step in range(_STEPS):
                vars(net[2])["p"] = 2.0 if step == 6 else 0.5
                with contextlib.suppress(ValueError):
                    net(x).sum().backward()
        assert [call.op for call in _calls(log) if call.error] == ["dropout"]
        # No attribute was set that the quick way could have learned of.
        told.append(
            [each.replace("'p': 2.0", "'p': 0.5") for each in _told(log, first)]
        )
    assert told[0] == told[1]


def test_views_of_a_known_result_share_its_storage() -> None:
    late = _Late()
    with _log() as log:
        late.until_known()
        hidden = late.step()
        hidden.detach()[0].mul_(2)
    linear, relu = [call for call in _calls(log) if call.op in ("linear", "relu")][-2:]
    write = _calls(log)[-1].writes[0]
    assert write.storage == relu.outputs[0].storage != linear.outputs[0].storage


def test_a_write_to_a_known_result_is_found() -> None:
    late = _Late()
    with _log() as log:
        late.until_known()
        hidden = late.relu(late.linear(late.x))
        hidden += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            hidden.sum().backward()
    event = log.program.events[-1]
    assert "inplace" in event.error
    assert [each.slot for each in event.stale] == ["_saved_result"]


def test_a_replaced_forward_is_run_and_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    late = _Late()
    with _log() as log:
        late.until_known()
        monkeypatch.setattr(nn.ReLU, "forward", lambda self, x: x.relu() * 2)
        late.step()
    assert [call.op for call in _calls(log)][-3:-1] == ["relu", "mul"]


def test_calls_inside_known_modules_keep_their_module_call() -> None:
    log, _ = _run(True, _mlp)
    modules = {m.index: m for m in log.program.events if type(m) is ModuleCall}
    for call in _calls(log):
        if call.op == "linear":
            assert modules[call.module].parent in modules


def test_a_module_in_the_place_of_a_known_one_is_learned_anew() -> None:
    late = _Late()
    with _log() as log:
        late.until_known()
        quick = log.loop.modules.fast_path
        stale = quick._table.rows[id(late.relu)]
        late.relu = nn.ReLU()
        quick._table.rows[id(late.relu)] = stale  # as where an address comes again
        late.until_known()
        fresh = quick._table.rows[id(late.relu)]
    assert fresh.reference() is late.relu
    assert [call.op for call in _calls(log)].count("relu") == 2 * _STEPS


def test_nothing_of_a_known_module_stays_alive() -> None:
    late = _Late()
    with _log():
        late.until_known()
        gone = [weakref.ref(each) for each in (late.linear, late.linear.weight, late.x)]
        del late
        gc.collect()
        assert [each() for each in gone] == [None] * 3
