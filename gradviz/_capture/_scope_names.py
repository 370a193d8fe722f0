"""Names of the modules that the user's code calls itself, by the names of their leaves.

Such a module has no attribute path, and several of one class would only differ by a
number: a generator and a discriminator, both Sequential. Where the names of parameters
begin with a variable ("G.0.weight"), their module is called that.
"""

from __future__ import annotations

from collections import Counter

from gradviz._capture._raw import RawNode, RawScope


def name_tops(nodes: list[RawNode]) -> None:
    """Rename the outermost scopes after the variables of their modules, once each."""
    tops: dict[int, RawScope] = {}
    found: dict[int, set[str]] = {}
    taken: Counter[str] = Counter()
    for raw in nodes:
        if raw.scope is None:
            continue
        inner, top = _chain(raw.scope)
        if id(top) not in tops:
            tops[id(top)] = top
            taken[top.name] = max(taken[top.name], top.call)
        if top.name != top.kind:
            continue
        for edge in raw.edges:
            if edge.producer.kind == "accumulate":
                owner = edge.producer.call.rpartition(".")[0]
                if (name := _before(owner, inner)) is not None:
                    found.setdefault(id(top), set()).add(name)
    for key, names in sorted(found.items(), key=lambda pair: tops[pair[0]].call):
        name = names.pop()
        if not names and name:
            top = tops[key]
            taken[name] += 1
            top.name, top.call = name, taken[name]


def _chain(scope: RawScope) -> tuple[str, RawScope]:
    """Return the path below the outermost scope, and that scope."""
    parts: list[str] = []
    while scope.parent is not None:
        parts.append(scope.name)
        scope = scope.parent
    return ".".join(reversed(parts)), scope


def _before(owner: str, inner: str) -> str | None:
    """Return what stands before an inner path: "G" of "G.0" and "0"; None: nothing."""
    if not inner:
        return owner
    return owner.removesuffix(f".{inner}") if owner.endswith(f".{inner}") else None
