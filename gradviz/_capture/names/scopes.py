"""Names of module calls.

A module that another one calls has its attribute path from there ("layers.0"). One that
the user's code calls itself has none, and several of one class would only differ by a
number: a generator and a discriminator, both Sequential. Where the names of parameters
begin with a variable ("G.0.weight"), their module is called that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gradviz._capture.recorder.raw import RawNode, RawScope
from gradviz.program.records import Module


def path_below(modules: Mapping[int, Module], above: int, wanted: int) -> str:
    """Return the attribute path from one module to another; "" where there is none.

    >>> rows = {1: Module(1, "Net", children={"body": 2})}
    >>> rows[2] = Module(2, "ModuleList", children={"0": 3})
    >>> path_below(rows, 1, 3)
    'body.0'
    """
    waiting, seen = [("", above)], {above}
    for path, key in waiting:
        module = modules.get(key)
        for name, child in () if module is None else module.children.items():
            if child == wanted:
                return path + name
            if child not in seen:
                seen.add(child)
                waiting.append((f"{path}{name}.", child))
    return ""


def name_tops(nodes: list[RawNode]) -> None:
    """Rename the outermost scopes after the variables of their modules, once each."""
    chains: dict[int, tuple[str, RawScope]] = {}
    found: dict[int, set[str]] = {}
    for raw in nodes:
        if raw.scope is None:
            continue
        if (chain := chains.get(id(raw.scope))) is None:
            chain = chains[id(raw.scope)] = _chain(raw.scope)
        inner, top = chain
        if top.name == top.kind:
            names = found.setdefault(id(top), set())
            for each in raw.behind:
                if each is not None and each.kind == "accumulate":
                    names |= _before(each.call.rpartition(".")[0], inner)
    tops = {id(top): top for _, top in chains.values()}
    _rename(tops, found)


def _rename(tops: dict[int, RawScope], found: dict[int, set[str]]) -> None:
    taken: Counter[str] = Counter()
    for top in tops.values():
        taken[top.name] = max(taken[top.name], top.call)
    for key in sorted(found, key=lambda key: tops[key].call):
        name = min(found[key], key=len, default="")
        # A module may use a leaf of a module inside it: "gpt" and "gpt.embed" is "gpt".
        if name and all(f"{each}.".startswith(f"{name}.") for each in found[key]):
            taken[name] += 1
            tops[key].name, tops[key].call = name, taken[name]


def _chain(scope: RawScope) -> tuple[str, RawScope]:
    """Return the path below the outermost scope, and that scope."""
    parts: list[str] = []
    while scope.parent is not None:
        parts.append(scope.name)
        scope = scope.parent
    return ".".join(reversed(parts)), scope


def _before(owner: str, inner: str) -> set[str]:
    """Return what stands before an inner path, if it does: "G" of "G.0" and "0"."""
    if inner and owner != inner:
        inner = f".{inner}"
    return {owner.removesuffix(inner)} if owner.endswith(inner) else set()
