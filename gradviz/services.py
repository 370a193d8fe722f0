"""What the page can ask the kernel for, besides the graph that it shows.

A view has some services by name. Each has a state, which the page draws, and answers
requests, each of which changes that state. Nothing of it is kept in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from gradviz import ir
from gradviz._providers import provided
from gradviz.errors import GradvizError

Request = Mapping[str, Any]
State = dict[str, Any]
"""Numbers, text, lists and dicts of them: what JSON can hold."""


class Service(Protocol):
    """One thing that the page can ask for, such as the next step of a pass."""

    def state(self) -> State:
        """Return what the page shows about it."""
        ...

    def answer(self, request: Request) -> None:
        """Do what the page asks; an exception becomes a sentence in the state."""
        ...


class Services:
    """The services of one view."""

    def __init__(self, services: Mapping[str, Service]) -> None:
        self._services = dict(services)
        self._errors: dict[str, str] = {}
        self._answered = 0

    def states(self) -> State:
        """Return the state of all: by name, with the last request that was answered."""
        states: State = {"answered": self._answered}
        for name, service in self._services.items():
            states[name] = service.state() | {"error": self._errors.get(name, "")}
        return states

    def answer(self, content: object) -> bool:
        """Answer a message of the page; False where it is no request to a service."""
        if not isinstance(content, dict):
            return False
        request = cast("Request", content)
        name = request.get("service")
        service = self._services.get(name) if isinstance(name, str) else None
        if service is None or not isinstance(name, str):
            return False
        self._errors[name] = ""
        try:
            service.answer(request)
        except (GradvizError, ValueError, IndexError) as error:  # sentences of ours
            self._errors[name] = sentence(str(error))
        except Exception as error:
            self._errors[name] = one_line(error)
        number = request.get("number")
        self._answered = number if isinstance(number, int) else self._answered
        return True

    def close(self) -> None:
        """Let go of what the services hold."""
        self._services.clear()


@dataclass(frozen=True, slots=True)
class Shown:
    """A snapshot to show, with what its view can ask for."""

    shown: ir.Snapshot
    offers: Mapping[str, Service]

    def snapshot(self) -> ir.Snapshot:
        """Return what to show."""
        return self.shown

    def services(self) -> dict[str, Service]:
        """Return what the view can ask for."""
        return dict(self.offers)


def sentence(text: str) -> str:
    """Return words as one sentence: "no such node" as "No such node."."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def one_line(error: BaseException) -> str:
    """Return what an error says, in one line.

    >>> one_line(ValueError("no such node\\nand more"))
    'ValueError: no such node'
    """
    first = str(error).strip().split("\n")[0].strip()
    kind = type(error).__name__
    return f"{kind}: {first}" if first else kind


def services_of(x: Any) -> dict[str, Service]:
    """Return what a view of ``x`` can ask for; of a tensor, to check its nodes, and
    what would be if its gradients were others."""
    if hasattr(x, "grad_fn") and hasattr(x, "requires_grad"):
        return dict(provided("graph_services")(x)) if x.grad_fn is not None else {}
    method = getattr(x, "services", None)
    return cast("dict[str, Service]", method()) if callable(method) else {}
