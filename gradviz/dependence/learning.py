"""Whose gradients matter: leaves, optimizers, and what the program does with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from typing import TypeVar

from gradviz.dependence.lineage import reached
from gradviz.dependence.op_families import one_by_one, plain
from gradviz.program import (
    SWITCHES,
    Call,
    History,
    Module,
    Optimizer,
    OptimizerCall,
    RawSite,
    Value,
)

T = TypeVar("T")


def once(analysis: Callable[[History], T]) -> Callable[[History], T]:
    """Keep what an analysis finds in a run: many rules ask, and only read."""

    @wraps(analysis)
    def kept(history: History) -> T:
        return history.once(analysis)

    return kept


_PAIR = 2  # weight and bias: they are named one by one
_COPYING = {"copy_", "lerp_", "add_", "set_", "data.set"}
_KEEPING = _COPYING | {"__setitem__", "iadd", "__iadd__", "index_copy_", "index_add_"}


@once
def trained(history: History) -> set[int]:
    """Return the leaves that any backward pass of the run reaches.

    Those whose ``.grad`` the program sets itself learn as well.
    """
    reached = {leaf for each in history.backwards for leaf in each.leaves}
    given = (call.inputs for call in history.calls if call.op == "grad.set")
    return (
        reached
        | history.program.taught
        | {inputs[0].tensor for inputs in given if len(inputs) > 1}
    )


@once
def given_gradients(history: History) -> set[int]:
    """Return the leaves that a pass gave a gradient, not only walked by.

    ``autograd.grad`` reaches all leaves of a graph and gives only what it is asked for.
    """
    found = {call.inputs[0].tensor for call in history.calls if call.op == "grad.set"}
    found |= history.program.taught
    for each in history.backwards:
        asked = {value.tensor for value in each.inputs}
        found |= asked or set(each.leaves)
    return found


@once
def managed(history: History) -> set[int]:
    """Return the tensors that any optimizer was given, whether it stepped or not."""
    optimizers = history.program.optimizers.values()
    return {tensor for each in optimizers for tensor in each.tensors}


@once
def wanted(history: History) -> set[int] | None:
    """Return the tensors that optimizers step, or None where there is no optimizer.

    An optimizer that never stepped counts only where none did: a run of one half of an
    adversarial pair is no mistake of the other half. Where an exception ended the run
    before any step, one whose turn had not come does not count either.
    """
    optimizers = history.program.optimizers
    if not optimizers:
        return None
    keys = {each.optimizer for each in steps(history)} & set(optimizers)
    if not keys and history.raised is not None:
        reached = {leaf for each in history.backwards for leaf in each.leaves}
        keys = {
            key
            for key, each in optimizers.items()
            if not reached.isdisjoint(each.tensors)
        }
    keys = keys or set(optimizers)
    return {tensor for key in keys for tensor in optimizers[key].tensors}


@once
def steps(history: History) -> list[OptimizerCall]:
    """Return the steps of all optimizers, in order."""
    return [each for each in history.of(OptimizerCall) if each.what == "step"]


@once
def steps_of(history: History) -> dict[int, list[OptimizerCall]]:
    """Return the steps of each optimizer that stepped, in order."""
    found: dict[int, list[OptimizerCall]] = {}
    for each in steps(history):
        found.setdefault(each.optimizer, []).append(each)
    return found


@once
def starved(history: History) -> set[int]:
    """Return the tensors that an optimizer steps and that never had a gradient.

    ``autograd.grad`` walks to leaves as well, and gives them none.
    """
    seen: dict[int, list[bool]] = {}
    for step in steps(history):
        for each in step.states:
            if each.requires_grad:
                seen.setdefault(each.tensor, []).append(each.has_grad)
    never = {key for key, had in seen.items() if not any(had)}
    return never - history.program.taught


@once
def by_memory(history: History) -> dict[int, set[int]]:
    """Return the parameters that calls read or write, by their storage."""
    found: dict[int, set[int]] = {}
    for call in history.calls:
        for value in (*call.inputs, *call.outputs):
            if value.is_parameter:
                found.setdefault(value.storage, set()).add(value.tensor)
    return found


@once
def copies(history: History) -> set[int]:
    """Return the parameters that are written from other parameters.

    These are the slow halves of pairs: target networks, moving averages. Nobody
    expects a gradient there. Also from a share of them: ``slow.add_(0.1 * fast)``.
    """
    owners, behind = by_memory(history), shares(history)
    found: set[int] = set()
    for call in _single(history):
        for write in call.writes if call.op in _COPYING else ():
            if write.storage in owners and _of(call, behind) - {write.storage}:
                found |= owners[write.storage]
    return found


_SHARING = frozenset(
    {"mul", "rmul", "multiply", "sub", "rsub", "div", "truediv", "add", "radd"}
    | {"to", "clone", "float", "neg"}
)


@once
def shares(history: History) -> dict[int, frozenset[int]]:
    """Return the memory of parameters behind memory, by that of their shares.

    A share is what sums, differences and factors make of a parameter, without a graph.
    A parameter is one of itself.
    """
    found = {storage: frozenset((storage,)) for storage in by_memory(history)}
    for call in _single(history):
        if plain(call.op) in _SHARING and not call.writes:
            for value in call.outputs:
                if not value.requires_grad and (shared := _of(call, found)):
                    found.setdefault(value.storage, shared)
    return found


def _single(history: History) -> Iterator[Call]:
    """Yield the calls of a run, those over lists one by one."""
    return (one for each in history.calls for one in one_by_one(each))


def _of(call: Call, found: dict[int, frozenset[int]]) -> frozenset[int]:
    """Return the memory of the parameters that a call is given, or shares of them."""
    return frozenset().union(*(found.get(each.storage, ()) for each in call.inputs))


@once
def kept_up(history: History) -> set[int]:
    """Return the memory of leaves that the program itself fills from other tensors.

    After the first pass, as the codes of a quantiser that follow averages.
    """
    first = history.backwards[0].index if history.backwards else 0
    return {
        write.storage
        for call in history.calls
        if call.index > first and call.op in _KEEPING
        for write in call.writes
        if any(value.storage != write.storage for value in call.inputs)
    }


def freezing(history: History, tensor: int) -> Call | None:
    """Return the last call that switched requires_grad of a tensor off.

    Of a parameter that was frozen before the recording began, one that says so again.
    """
    again = None
    for call in reversed(switches(history, tensor)):
        after = [each for each in call.outputs if each.tensor == tensor]
        if after and after[0].requires_grad:
            return None
        before = [each for each in call.inputs if each.tensor == tensor]
        if before and before[0].requires_grad:
            return call
        if again is None and before and before[0].is_parameter:
            again = call
    return again


def switches(history: History, tensor: int) -> list[Call]:
    """Return the calls that set requires_grad of a tensor, in order."""
    return [call for call in history.uses(tensor) if call.op in SWITCHES]


@once
def last_seen(history: History) -> dict[int, Value]:
    """Return every tensor as the last call saw it."""
    found: dict[int, Value] = {}
    for call in history.calls:
        for value in (*call.inputs, *call.outputs):
            found[value.tensor] = value
    return found


@once
def parameters(history: History) -> dict[int, int]:
    """Return the registered parameters of all modules, with their module."""
    return {
        tensor: key
        for key, module in history.program.modules.items()
        for tensor in module.parameters.values()
    }


def is_parameter(history: History, tensor: int) -> bool:
    """Tell whether a tensor is a parameter, registered or not."""
    facts = history.program.tensors.get(tensor)
    return facts is not None and facts.is_parameter


def created_at(history: History, tensor: int) -> RawSite | None:
    """Return the line that created a tensor: of a parameter, its module."""
    facts, made = history.program.tensors.get(tensor), history.producer(tensor)
    site = None if facts is None else facts.made
    return made.site if site is None and made is not None else site


def module_of(history: History, tensor: int) -> Module | None:
    """Return the module that a parameter is registered in."""
    key = parameters(history).get(tensor)
    return None if key is None else history.program.modules.get(key)


def around(history: History, tensor: int) -> Iterator[Module]:
    """Yield the module that a parameter is registered in, and those that hold it."""
    module, held_by = module_of(history, tensor), _holders(history)
    met = set[int]()
    while module is not None and module.key not in met:  # one may hold its holder
        yield module
        met.add(module.key)
        module = held_by.get(module.key)


@once
def _holders(history: History) -> dict[int, Module]:
    """Return, for modules, the first one that holds each."""
    found: dict[int, Module] = {}
    for module in history.program.modules.values():
        for child in module.children.values():
            found.setdefault(child, module)
    return found


def nearest(
    history: History, optimizers: Collection[Optimizer], tensor: int
) -> list[Optimizer]:
    """Return the optimizers with parameters of the smallest module around a parameter.

    Empty where no module around it has any of theirs.
    """
    for module in around(history, tensor):
        inside = all_parameters(history, module)
        found = [each for each in optimizers if inside.intersection(each.tensors)]
        if found:
            return found
    return []


def all_parameters(history: History, module: Module) -> set[int]:
    """Return the parameters of a module and of all inside it."""
    known = history.program.modules
    inside = reached([module], lambda each: map(known.get, each.children.values()))
    return {key for each in inside for key in each.parameters.values()}


def outermost(history: History) -> list[Module]:
    """Return the modules that no other one holds."""
    modules = history.program.modules
    inner = {key for each in modules.values() for key in each.children.values()}
    return [each for key, each in modules.items() if key not in inner]


@once
def births(history: History) -> dict[int, Call]:
    """Return, for tensors, the first call that met them or their memory.

    Memory that was set later, as ``.data = …`` does, is younger than its tensor.
    """
    first: dict[int, Call] = {}
    met: dict[int, Call] = {}
    for call in history.calls:
        for value in (*call.inputs, *call.outputs):
            first.setdefault(value.storage, call)
            met.setdefault(value.tensor, call)
    return {
        key: min(first[value.storage], met[key], key=lambda each: each.index)
        for key, value in last_seen(history).items()
    }


def made_before(history: History, tensors: Iterable[int], index: int) -> set[int]:
    """Return those of some tensors that were there when an event came.

    Where that part of a long run is forgotten, the module of a parameter tells.
    """
    born = births(history)

    def made(tensor: int) -> int | None:
        met = born[tensor].index if tensor in born else None
        if met is not None and history.is_whole(index, met):
            return met
        module = module_of(history, tensor)
        return met if module is None or module.made is None else module.made

    indices = {tensor: made(tensor) for tensor in tensors}
    return {key for key, at in indices.items() if at is not None and at <= index}


def listed(history: History, tensors: Collection[int], limit: int = 4) -> str:
    """Return "`encoder` (10 parameters), `head.bias` and 3 more" for tensors.

    A module stands for its parameters where all of more than two are meant. Tensors
    without a name are counted.
    """
    wholes, left = _wholes(history, set(tensors)), set(tensors)
    left.difference_update(*wholes.values())
    parts = {f"{name} ({len(own)} parameters)": own for name, own in wholes.items()}
    parts |= {name: {each} for each in left if (name := history.name(each, ""))}
    shown = sorted(parts)[:limit]
    rest = len(set(tensors).difference(*(parts[each] for each in shown)))
    if not shown:
        return "a tensor" if rest == 1 else f"{rest} tensors"
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return joined(shown)


def _wholes(history: History, tensors: set[int]) -> dict[str, set[int]]:
    """Return the parameters of the largest modules that have all theirs in a set."""
    found = dict[str, set[int]]()
    for tensor in tensors:
        name, own = "", set[int]()
        for module in around(history, tensor):
            inside = all_parameters(history, module)
            if not inside <= tensors:
                break
            if module.name and len(inside) > _PAIR:
                name, own = module.name, inside
        if name:
            found[f"`{name}`"] = own
    return found


def joined(parts: Iterable[str]) -> str:
    """Return "a, b and c".

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def plural(count: int, one: str, many: str) -> str:
    """Return the word for a count.

    >>> plural(1, "requires", "require")
    'requires'
    """
    return one if count == 1 else many
