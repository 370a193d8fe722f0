"""Names of tensors and modules: variables, items, attributes, parameter paths."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from gradviz._capture.names.tensors import locals_of, own_path, unsharded_in
from gradviz._capture.training_loop.patches import Part

if TYPE_CHECKING:
    from gradviz._capture.training_loop.modules import ModulePart
    from gradviz._capture.training_loop.optimizers import OptimizerPart

_OPTIMIZED = 1  # of a code object's flags: its variables are not in a dict
_FRAMES = 6  # of the user, whose variables are looked at
_ITEMS = 64  # of one container
_DEPTH = 3
_BUDGET = 5_000  # values looked at, of one refresh
_DUE = {4**power for power in range(2, 20)}


class NamePart(Part):
    """Finds names, and writes them into the tables of tensors, modules, optimizers."""

    subject = "Names"
    modules: ModulePart
    optimizers: OptimizerPart

    def install(self) -> None:
        self.on = True
        self._rounds = 0
        self._variables = dict[str, int]()  # what each held when it was first met
        self._moving = set[str]()  # variables that hold now one thing, now another

    def due(self) -> bool:
        """Tell whether to look names up again: always at first, then rarely."""
        self._rounds += 1
        return self._rounds <= 4 or self._rounds in _DUE

    def refresh(self, trace: TracebackType | None = None) -> None:
        """Name everything that a variable of the program leads to."""
        scopes = list(self._scopes(trace))
        self.log.pause()
        try:
            self._name_modules(scopes)
            for name, thing in self._walk(scopes):
                if isinstance(thing, self.lib.Tensor):
                    self._name_tensor(thing, name)
        finally:
            self.log.resume()

    def holders(self) -> dict[int, tuple[str, ...]]:
        """Map ``id(tensor)`` to all names under which the program holds it."""
        found: dict[int, tuple[str, ...]] = {}
        for name, thing in self._walk(list(self._scopes(None))):
            if isinstance(thing, self.lib.Tensor):
                found[id(thing)] = (*found.get(id(thing), ()), name)
        return found

    # ---- where to look ---------------------------------------------------------------

    def _scopes(self, trace: TracebackType | None) -> Iterator[dict[str, Any]]:
        """Yield the variables of the user's frames, innermost first, then of main."""
        frames: list[FrameType] = []
        while trace is not None:
            frames.insert(0, trace.tb_frame)
            trace = trace.tb_next
        frame = self.log.frame()
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        users = self.log.user_files
        mine = [each for each in frames if users[each.f_code.co_filename]][:_FRAMES]
        for each in mine:
            if each.f_code.co_flags & _OPTIMIZED:
                yield locals_of(each)
        main = vars(sys.modules["__main__"])
        if mine and mine[0].f_globals is not main:
            yield mine[0].f_globals
        yield main

    def _walk(self, scopes: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Yield name and value of variables, of items and of attributes below them."""
        left, seen = _BUDGET, set[int]()
        waiting = [
            (name, value, 0)
            for variables in scopes
            for name, value in list(variables.items())
            if not name.startswith("_")
        ]
        while waiting and left:
            level, waiting = waiting, []
            for name, value, depth in level:
                left -= 1
                if not left:
                    break
                yield name, value
                if depth < _DEPTH and id(value) not in seen:
                    seen.add(id(value))
                    try:
                        inside = self._inside(name, value)
                    except Exception:
                        continue  # another thread changed it meanwhile, or it is odd
                    waiting += [(n, v, depth + 1) for n, v in inside]

    def _inside(self, name: str, value: Any) -> list[tuple[str, Any]]:
        if isinstance(value, dict):
            pairs = list(islice(value.items(), _ITEMS))
            return [
                (f"{name}[{key!r}]", each)
                for key, each in pairs
                if isinstance(key, str | int)
            ]
        if isinstance(value, list | tuple):
            head = list(value[:_ITEMS])
            return [(f"{name}[{at}]", each) for at, each in enumerate(head)]
        if isinstance(value, set):
            return [(f"{name}[…]", each) for each in islice(value, _ITEMS)]
        if self._is_users(value):
            own = list(islice(getattr(value, "__dict__", {}).items(), _ITEMS))
            return [(f"{name}.{key}", each) for key, each in own if key[:1] != "_"]
        return []

    def _is_users(self, value: Any) -> bool:
        """Tell whether a value is an instance of a class that the user wrote."""
        cls = type(value)
        if isinstance(value, type) or cls.__module__ == "builtins":
            return False
        module = sys.modules.get(cls.__module__)
        file = getattr(module, "__file__", None)
        return cls.__module__ == "__main__" or (
            isinstance(file, str) and self.log.user_files[file]
        )

    # ---- what is named ---------------------------------------------------------------

    def _name_tensor(self, tensor: Any, name: str, path: bool = False) -> None:
        if self.log.tensors.known(tensor) is None:
            return  # nothing of the run is about it
        facts = self.log.program.tensors[self.log.tensor(tensor)]
        if path or facts.name is None:
            facts.name = name

    def _name_modules(self, scopes: list[dict[str, Any]]) -> None:
        base = self.lib.nn.Module
        tops = list[tuple[str, Any]]()
        for name, value in self._held(scopes):
            if isinstance(value, base):
                tops.append((name, value))
            else:
                self.optimizers.call(value, name)
        inner = {id(m) for _, top in tops for m in top.modules() if m is not top}
        tops = [(name, top) for name, top in tops if id(top) not in inner]
        for name, top in tops:
            prefix = f"{name}." if len(tops) > 1 else ""
            self._name_tree(name, prefix, top)

    def _held(self, scopes: list[dict[str, Any]]) -> list[tuple[str, Any]]:
        """Return modules and optimizers with a name: `nets[0]` rather than `net`.

        A variable that goes through several of them, as that of a loop, names none,
        unless there is no other name.
        """
        kinds = self.lib.nn.Module, self.lib.optim.Optimizer
        found: dict[int, tuple[Any, list[str]]] = {}
        for name, value in self._walk(scopes[::-1]):  # `net` rather than `self`
            if _root(name) == name and self._is_other(name, value):
                self._moving.add(name)
            if isinstance(value, kinds):
                found.setdefault(id(value), (value, []))[1].append(name)
        return [
            (next((n for n in names if _root(n) not in self._moving), names[0]), value)
            for value, names in found.values()
        ]

    def _is_other(self, name: str, value: Any) -> bool:
        return self._variables.setdefault(name, id(value)) != id(value)

    def _name_tree(self, name: str, prefix: str, top: Any) -> None:
        paths = dict[int, str]()
        for path, module in top.named_modules():
            own = own_path(path)
            self.modules.row(module).name = prefix + own if own else name
            paths[id(module)] = f"{own}." if own else ""
        for module, own, parameter in unsharded_in(top):
            if id(module) in paths:
                full = f"{prefix}{paths[id(module)]}{own}"
                self._name_tensor(parameter, full, path=True)
        for path, parameter in top.named_parameters():
            self._name_tensor(parameter, prefix + own_path(path), path=True)
        for path, buffer in top.named_buffers():
            self._name_tensor(buffer, prefix + own_path(path), path=True)


def _root(name: str) -> str:
    """Return the variable that a name begins with."""
    return name.partition(".")[0].partition("[")[0]
