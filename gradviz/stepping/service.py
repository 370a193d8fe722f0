"""The commands of a stepped pass, as the bar below its graph sends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradviz.services import Request, State
from gradviz.stepping.change import clipped, scaled, zeroed
from gradviz.stepping.control import PassControl

_LONGEST = 2_000  # characters of a gradient's values


class SteppingService:
    """Answers the bar."""

    def __init__(self, stepper: PassControl) -> None:
        self._stepper = stepper
        self._commands: dict[str, Callable[[Request], object]] = {
            "step": lambda request: stepper.step(),
            "over": lambda request: stepper.over(),
            "resume": lambda request: stepper.resume(),
            "abort": lambda request: stepper.abort(),
            "run_to": self._run_to,
            "break": self._break,
            "clear": lambda request: stepper.clear(request["which"]),
            "change": self._change,
        }

    def state(self) -> State:
        """Return where the pass stands, and what will stop it."""
        stepper, stop = self._stepper, self._stepper.stop
        state: State = {
            "outcome": stepper.outcome,
            "breakpoints": [str(each) for each in stepper.breakpoints],
        }
        if stop is None:
            return state | {"stop": None}
        return state | {
            "stop": {
                "number": stop.number,
                "total": stop.total,
                "name": stop.name,
                "leaf": stop.leaf,
                "module": stop.module,
                "node": stepper.row_of(stop.index),
                "reason": stop.reason,
                "gradients": _words(stop.incoming, stepper.incoming),
            }
        }

    def answer(self, request: Request) -> None:
        """Run one command; raises ValueError for one that is not known.

        What the pass itself raises is told by its outcome.
        """
        command = self._commands.get(str(request.get("command")))
        if command is None:
            raise ValueError(f"there is no command {request.get('command')!r}")
        try:
            command(request)
        except Exception:
            if self._stepper.error is None:
                raise

    def _run_to(self, request: Request) -> None:
        row = request["node"]
        stepper = self._stepper
        stop = stepper.stop
        if stop is None:
            return
        rows = {stepper.row_of(index): index for index in range(stop.total)}
        if row not in rows:
            raise ValueError("this backward pass will not reach that node")
        stepper.run_to_index(rows[row])

    def _break(self, request: Request) -> None:
        names = ("node", "module", "above", "below", "nan", "nonzero")
        given = {name: request[name] for name in names if name in request}
        self._stepper.break_when(**given)

    def _change(self, request: Request) -> None:
        """Zero, scale or clip what the node is about to receive, on every output."""
        how = {
            "zero": zeroed,
            "scale": lambda gradient: scaled(gradient, float(request["value"])),
            "clip": lambda gradient: clipped(gradient, float(request["value"])),
        }[request["how"]]
        for index, gradient in enumerate(self._stepper.incoming):
            if gradient is not None:
                self._stepper.replace(how(gradient), index)


def _words(measured: Sequence[Any], tensors: Sequence[Any]) -> list[State]:
    """Return each gradient as words and as its values; empty where there is none."""
    return [
        {"words": "", "values": ""}
        if gradient is None
        else {"words": str(gradient), "values": _values(tensor)}
        for gradient, tensor in zip(measured, tensors, strict=True)
    ]


def _values(tensor: Any) -> str:
    text = str(tensor.detach())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"
