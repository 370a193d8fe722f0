"""What the program log says about optimizers, modules, names and living graphs."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from gradviz._capture.open_log import Engine, open_log
from gradviz.program.events import (
    Backward,
    Call,
    HookRegistered,
    ModuleCall,
    OptimizerCall,
    StateLoaded,
    TrainingSwitched,
)
from gradviz.program.history import History
from gradviz.program.records import Program


def logged(engine: Engine, run: Callable[[Any], object], scan: bool = True) -> Program:
    """Run a function of the library under a log; what it returns is kept until then."""
    with open_log(engine, scan=scan) as log:
        kept = run(importlib.import_module(engine))
    del kept
    assert not [note for note in log.program.notes if "followed" in note]
    return log.program


def lines(program: Program, events: list[Any]) -> list[str]:
    history = History(program)
    return [history.text(event.site) for event in events]


# ---- optimizers ---------------------------------------------------------------------


def test_a_step_is_one_call_that_writes_the_parameters(engine: Engine) -> None:
    def run(lib: Any) -> None:
        net = lib.nn.Linear(2, 1)
        opt = lib.optim.SGD(net.parameters(), lr=0.1)
        opt.zero_grad()
        net(lib.ones(3, 2)).sum().backward()
        opt.step()

    program = logged(engine, run)
    (row,) = program.optimizers.values()
    calls = [each for each in program.events if isinstance(each, OptimizerCall)]
    assert [each.what for each in calls] == ["init", "zero_grad", "step"]
    assert lines(program, calls)[1:] == ["opt.zero_grad()", "opt.step()"]
    assert (row.kind, row.name, len(row.tensors)) == ("SGD", "opt", 2)
    assert [state.has_grad for state in calls[1].states] == [False, False]
    assert [(s.has_grad, s.zero, s.bad_grad) for s in calls[2].states] == [
        (True, False, 0)
    ] * 2
    writes = [each for each in program.events if isinstance(each, Call) and each.writes]
    step = writes[-1]
    assert step.op == "step"
    assert lines(program, [step]) == ["opt.step()"]
    assert [write.value.tensor for write in step.writes] == list(row.tensors)
    assert all(write.after == write.before + 1 for write in step.writes)


def test_a_variable_of_a_loop_names_no_optimizer_and_no_module(engine: Engine) -> None:
    def run(lib: Any) -> None:
        nets = [lib.nn.Linear(2, 1) for _ in range(2)]
        opts = [lib.optim.SGD(net.parameters(), lr=0.1) for net in nets]
        for net, opt in [*zip(nets, opts, strict=True)] * 2:
            net(lib.ones(3, 2)).sum().backward()
            opt.step()

    program = logged(engine, run)
    optimizers = [row.name for row in program.optimizers.values()]
    modules = [row.name for row in program.modules.values()]
    assert (optimizers, modules) == (["opts[0]", "opts[1]"], ["nets[0]", "nets[1]"])


def test_states_are_shared_while_nothing_changes(engine: Engine) -> None:
    def run(lib: Any) -> None:
        w = lib.ones(2, requires_grad=True)
        opt = lib.optim.SGD([w], lr=0.1)
        for _ in range(3):
            (w * w).sum().backward()
            opt.step()

    program = logged(engine, run, scan=False)
    steps = [e for e in program.events if isinstance(e, OptimizerCall)][1:]
    assert len({id(each.states) for each in steps}) == 1
    assert steps[0].states[0].zero is None


def test_a_refused_optimizer_is_a_call_with_the_error(engine: Engine) -> None:
    def run(lib: Any) -> None:
        w = lib.ones(2, requires_grad=True)
        with pytest.raises(ValueError, match="non-leaf"):
            lib.optim.Adam([w * 2])

    program = logged(engine, run)
    (call,) = [e for e in program.events if isinstance(e, Call) and e.op == "Adam"]
    assert call.error == "ValueError: can't optimize a non-leaf Tensor"
    assert [value.is_leaf for value in call.inputs] == [False]


def test_an_optimizer_of_the_user_logs_its_own_writes(engine: Engine) -> None:
    def run(lib: Any) -> None:
        class Descent(lib.optim.Optimizer):
            def step(self, closure: Any = None) -> None:
                with lib.no_grad():
                    for w in self.param_groups[0]["params"]:
                        w.sub_(w.grad)

        w = lib.ones(2, requires_grad=True)
        opt = Descent([w], {})
        (w * w).sum().backward()
        opt.step()

    program = logged(engine, run)
    writes = [e for e in program.events if isinstance(e, Call) and e.writes]
    assert lines(program, writes) == ["w.sub_(w.grad)"]


def test_what_a_closure_does_is_logged(engine: Engine) -> None:
    def run(lib: Any) -> None:
        w = lib.ones(2, requires_grad=True)
        opt = lib.optim.LBFGS([w], max_iter=1)

        def closure() -> Any:
            opt.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            return loss

        opt.step(closure)

    program = logged(engine, run)
    history = History(program)
    assert lines(program, list(history.backwards)) == ["loss.backward()"]
    assert "w * w" in lines(program, history.calls)


def test_module_zero_grad_is_an_event_without_optimizer(engine: Engine) -> None:
    def run(lib: Any) -> None:
        net = lib.nn.Linear(2, 1)
        net(lib.ones(1, 2)).sum().backward()
        net.zero_grad()

    program = logged(engine, run)
    (event,) = [e for e in program.events if isinstance(e, OptimizerCall)]
    assert (event.what, event.optimizer, len(event.states)) == ("zero_grad", 0, 2)


# ---- modules ------------------------------------------------------------------------


def test_modules_know_their_line_their_name_and_what_they_hide(engine: Engine) -> None:
    def run(lib: Any) -> object:
        class Net(lib.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layers = [lib.nn.Linear(2, 2)]
                self.scale = lib.ones(1, requires_grad=True)
                self.head = lib.nn.Linear(2, 1)

            def forward(self, x: Any) -> Any:
                return self.head(self.layers[0](x))

        net = Net()
        net.head.requires_grad = False
        net(lib.ones(1, 2))
        return net

    program = logged(engine, run)
    by_kind = {row.kind + row.name[-4:]: row for row in program.modules.values()}
    net, head = by_kind["Netkept"], by_kind["Linearhead"]
    history = History(program)
    assert history.text(net.site) == "Net()"
    assert history.text(head.site) == "lib.nn.Linear(2, 1)"
    assert net.children == {"head": head.key}
    assert [(name, kind) for name, kind, _ in net.hidden] == [
        ("layers", "list"),
        ("scale", "Tensor"),
    ]
    assert history.text(head.odd["requires_grad"]) == "net.head.requires_grad"
    weight = program.tensors[head.parameters["weight"]]
    assert weight.is_parameter
    assert weight.name is not None
    assert weight.name.endswith("head.weight")
    assert history.text(weight.made) == "lib.nn.Linear(2, 1)"


def test_module_calls_nest_and_end_when_they_raise(engine: Engine) -> None:
    def run(lib: Any) -> object:
        net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(3, 1))
        net.eval()
        with lib.no_grad(), pytest.raises(RuntimeError):
            net(lib.ones(1, 2))
        return net

    program = logged(engine, run)
    outer, first, second = [e for e in program.events if isinstance(e, ModuleCall)]
    assert first.parent == second.parent == outer.index
    assert second.left is not None
    assert outer.left == second.left
    assert not outer.grad_enabled
    assert not outer.training
    inside = [e for e in program.events if isinstance(e, Call) and e.module]
    assert {call.module for call in inside} <= {first.index, second.index}


def test_train_and_eval_say_what_they_changed(engine: Engine) -> None:
    def run(lib: Any) -> object:
        net = lib.nn.Sequential(lib.nn.Dropout(), lib.nn.ReLU())
        net[0].eval()
        net.eval()
        net[0].training = True
        return net

    program = logged(engine, run)
    switches = [e for e in program.events if isinstance(e, TrainingSwitched)]
    assert [(e.training, len(e.changed)) for e in switches] == [
        (False, 1),
        (False, 2),
        (True, 1),
    ]
    assert lines(program, switches)[2] == "net[0].training"


def test_states_of_modules_are_logged_with_the_keys_that_do_not_fit(
    engine: Engine,
) -> None:
    def run(lib: Any) -> Any:
        net = lib.nn.Linear(2, 1)
        net.load_state_dict(net.state_dict())
        state = {"net.weight": lib.zeros(1, 2), "bias": lib.zeros(1)}
        net.load_state_dict(state, strict=False)
        return net

    program = logged(engine, run)
    loads = [e for e in program.events if isinstance(e, StateLoaded)]
    assert [(e.given, e.fitting, e.missing, e.unexpected) for e in loads] == [
        (2, 2, (), ()),
        (2, 1, ("weight",), ("net.weight",)),
    ]


def test_hooks_on_modules_are_logged(engine: Engine) -> None:
    def run(lib: Any) -> None:
        layer = lib.nn.ReLU()
        layer.register_full_backward_hook(lambda module, before, after: None)

    program = logged(engine, run)
    (event,) = [e for e in program.events if isinstance(e, HookRegistered)]
    assert event.kind == "module_full_backward"
    assert event.code is not None
    assert event.code.co_name == "<lambda>"


# ---- names and living graphs --------------------------------------------------------


def test_variables_items_and_attributes_give_names(engine: Engine) -> None:
    def run(lib: Any) -> None:
        class Trainer:
            def __init__(self) -> None:
                self.state = lib.ones(2, requires_grad=True) * 1

        trainer = Trainer()
        losses = [lib.ones(2, requires_grad=True) * 2]
        total = losses[0].sum() + trainer.state.sum()
        total.backward()

    program = logged(engine, run)
    names = {facts.name for facts in program.tensors.values()}
    assert {"total", "losses[0]", "trainer.state"} <= names


def test_graphs_that_no_pass_walked_are_counted(engine: Engine) -> None:
    kept: list[Any] = []

    def run(lib: Any) -> None:
        preds = kept
        w = lib.ones(4, requires_grad=True)
        for _ in range(2):
            preds.append((w * 2).exp())
        (w * 3).sum().backward()

    program = logged(engine, run)
    assert [row.nodes for row in program.live] == [3, 3]
    assert all(16 <= row.saved_bytes <= 24 for row in program.live)  # the 2, in torch
    history = History(program)
    assert {history.text(row.site) for row in program.live} == {"(w * 2).exp()"}


# ---- what stands for many calls -----------------------------------------------------


def test_clipping_is_one_call(engine: Engine) -> None:
    def run(lib: Any) -> None:
        net = lib.nn.Linear(2, 1)
        net(lib.ones(1, 2)).sum().backward()
        lib.nn.utils.clip_grad_norm_(net.parameters(), 1.0)

    program = logged(engine, run)
    last = History(program).calls[-1]
    assert (last.op, len(last.inputs)) == ("clip_grad_norm_", 2)


def test_a_checkpoint_contains_its_second_run(engine: Engine) -> None:
    def run(lib: Any) -> None:
        checkpoint = importlib.import_module(f"{engine}.utils.checkpoint")

        def part(x: Any) -> Any:
            return x.exp().sin()

        x = lib.ones(2, requires_grad=True)
        checkpoint.checkpoint(part, x, use_reentrant=False).sum().backward()

    program = logged(engine, run)
    calls = History(program).calls
    (first,) = [call for call in calls if call.op == "checkpoint"]
    (again,) = [call for call in calls if call.op == "recompute"]
    assert first.keywords == {"use_reentrant": False}
    assert first.arguments[0].code.co_name == "part"
    assert (again.within, again.error) == (first.index, None)
    assert [call.op for call in calls if call.within == first.index][:1] == ["exp"]
    assert "exp" in [call.op for call in calls if call.within == again.index]


def test_a_gradcheck_shows_its_inputs_and_what_it_called(engine: Engine) -> None:
    def run(lib: Any) -> None:
        x = lib.tensor([0.5], requires_grad=True)
        check = lib.autograd.gradcheck
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError):
                check(lambda x: x.sin(), (x,))

    program = logged(engine, run)
    calls = History(program).calls
    (check,) = [call for call in calls if call.op == "gradcheck"]
    assert check.inputs[0].dtype == "float32"
    assert check.error is not None
    assert "Jacobian mismatch" in check.error
    assert {call.op for call in calls if call.within == check.index} == {"sin"}
    assert not [e for e in program.events if isinstance(e, Backward)]


def test_a_loop_over_a_loader_says_how_large_its_last_batch_is(engine: Engine) -> None:
    def run(lib: Any) -> None:
        data = importlib.import_module(f"{engine}.utils.data")
        for _ in data.DataLoader(data.TensorDataset(lib.ones(5, 2)), batch_size=2):
            pass

    program = logged(engine, run)
    (call,) = [call for call in History(program).calls if call.op == "DataLoader"]
    assert call.keywords["last_batch"] == 1
    assert call.keywords["samples"] == 5
