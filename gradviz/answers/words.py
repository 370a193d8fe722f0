"""How gates are told: one sentence for each reason that a gradient is lost for."""

from __future__ import annotations

from gradviz.answers.answer import Step
from gradviz.answers.run import Run
from gradviz.dependence.cuts import reason_of
from gradviz.dependence.graph import Gate
from gradviz.program import Call, Event, Module, Value

_DETACHED = "{op} in {line} lets the value through, but not the gradient"
_MODE = "{place} switches gradients off, so {call} is computed without a graph"
_SENTENCES = {
    "detach": _DETACHED,
    "block": _MODE,
    "decorator": _MODE,
    "left": "gradients were switched off in {place} and not on again before {call}",
    "checkpoint": "{place} runs a checkpoint in which no input requires grad",
    "sample": "{call} draws a sample, which has no graph: `.rsample()` would keep one",
    "library": "{call} runs in a library that keeps no graph",
    "copy": "{call} copies the numbers and not the graph",
    "numbers": "{call} makes a Python number of it, which has no graph",
    "array": "{call} hands the values to NumPy, which keeps no graph",
    "threshold": "{call} answers yes or no, which has no derivative",
    "index": "{call} gives positions, which have no derivative",
    "cast": "{call} makes integers of it, which have no derivative",
    "grad": "{call} gives gradients without a graph of their own: "
    "`create_graph=True` would keep one",
    "other": "{call} gives a result without a graph",
}


def gate_at(run: Run, event: Event, operand: Value) -> Gate:
    """Return an event that cut the graph of an operand as a gate."""
    if isinstance(event, Call):
        reason, place = reason_of(run.history, event)
        return Gate(event, operand, reason, place, every=True, near=True)
    return Gate(event, operand, "grad", event.site, every=True, near=True)


def gate_words(run: Run, gate: Gate) -> str:
    """Return what a gate does, without a full stop.

    "`.detach()` in line 10 lets the value through, but not the gradient".
    """
    event = gate.call
    op = event.op if isinstance(event, Call) else "grad"
    spelled = ".data" if op.startswith("data.") else f".{op}()"
    return _SENTENCES[gate.reason].format(
        op=f"`{spelled}`",
        line=run.line(event.site),
        call=run.at(event.site).removeprefix("in "),
        place=run.at(gate.place).removeprefix("in "),
    )


def never_called(run: Run, module: Module) -> Step:
    """Return the step that says that nobody called a module."""
    words = f"`{module.name or module.kind}` ({module.kind})"
    if module.site is None:
        return run.step("use", f"{words} was never called in the recording.")
    words += f" was made in {run.line(module.site)} and never called."
    return run.step("use", words, module.site, decision=True)
