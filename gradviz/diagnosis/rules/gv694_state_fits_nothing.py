"""A saved state was loaded, and next to none of its keys is one of the model's.

What it does
    Finds ``load_state_dict(…, strict=False)`` of a state none of whose keys fits, of
    one most of whose keys would fit without a prefix or with another, and of a state
    that a condition on its keys left empty.

Why is this bad
    ``strict=False`` passes over what does not fit, and says so in a result that nobody
    reads: the model keeps the random values that it was made with. A checkpoint of a
    trainer, of ``DataParallel`` or of a compiled model has a prefix in front of every
    key.

Example
    ::

        net = Net()
        net.load_state_dict(torch.load("trainer.pt"), strict=False)  # "model.0.weight"

Use instead
    ::

        state = torch.load("trainer.pt")
        net.load_state_dict({k.removeprefix("model."): v for k, v in state.items()})

When it stays quiet
    Some keys fit and no other prefix makes others fit, as with a new head or with
    adapters alone; the model, a part of it or one around it takes another state that
    fits; the state was empty from the start.

References
    https://pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from gradviz.diagnosis._words import shortened
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.bindings import named, own_nodes, put_by
from gradviz.diagnosis.decisions.choice import choice
from gradviz.diagnosis.decisions.conditions import asked_around, strings_in
from gradviz.diagnosis.decisions.decision import Decision, decided
from gradviz.diagnosis.decisions.frames import Spot, last_name, spot
from gradviz.diagnosis.edits.calls import with_keys_renamed
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History, RawSite, StateLoaded

_TABLES = ("dict", "OrderedDict")
_SAMPLE = 20  # keys of the state that are looked at for a prefix


@rule("GV694", "state-fits-nothing", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that loads a state whose keys do not fit."""
    told = set[RawSite | None]()
    loads = history.of(StateLoaded)
    for place, load in enumerate(loads):
        if not load.missing or load.site in told or load.fitting > load.given // 2:
            continue
        prefixes = _prefixes(load.missing, load.unexpected)
        if load.fitting and (prefixes is None or _is_looked_at(history, load)):
            continue
        family = _family(history, load.module)
        if any(each.module in family and each.fitting for each in loads[place + 1 :]):
            continue
        hit = _hit(history, load, prefixes)
        if hit is not None:
            told.add(load.site)
            yield hit


def _is_looked_at(history: History, load: StateLoaded) -> bool:
    """Tell whether the program keeps what ``load_state_dict`` says does not fit."""
    statement = history.places.statement(load.site)
    return isinstance(statement, ast.Assign | ast.AnnAssign | ast.NamedExpr)


def _family(history: History, module: int) -> set[int]:
    """Return a module with those inside of it, and those that hold it."""
    modules, found = history.program.modules, {module}
    inner, outer = [module], [module]
    for key in inner:
        children = modules[key].children.values() if key in modules else ()
        inner += set(children) - found
        found.update(children)
    for key in outer:
        holders = {k for k, each in modules.items() if key in each.children.values()}
        outer += holders - found
        found |= holders
    return found


@dataclass(frozen=True, slots=True)
class _Prefixes:
    """What the keys of a state begin with, and what the module's do instead."""

    given: str
    own: str
    sample: str  # a key of the state
    whole: bool  # every key fits then

    def of(self, key: str) -> str:
        """Return an expression that makes a key of the module's from one that is given.

        >>> _Prefixes("model.", "", "model.0.bias", True).of("k")
        "k.removeprefix('model.')"
        """
        key = f"{key}.removeprefix({self.given!r})" if self.given else key
        return f"{self.own!r} + {key}" if self.own else key


def _prefixes(
    missing: Collection[str], unexpected: Collection[str]
) -> _Prefixes | None:
    """Return the prefixes by which most of the keys differ that do not fit.

    >>> _prefixes(["a.bias", "b.bias"], ["net.a.bias", "net.b.bias"]).given
    'net.'
    """
    endings: dict[str, list[str]] = {}
    for key in missing:
        for prefix, rest in _cuts(key):
            endings.setdefault(rest, []).append(prefix)
    pairs = Counter[tuple[str, str]]()
    for key in islice(unexpected, _SAMPLE):
        cut = next(((p, r) for p, r in _cuts(key) if r in endings and "." in r), None)
        if cut is not None:
            pairs.update((cut[0], own) for own in endings[cut[1]])
    for (ahead, own), _ in pairs.most_common(1):
        wanted = set(missing)
        named = [key for key in unexpected if key.startswith(ahead)]
        fit = [key for key in named if own + key.removeprefix(ahead) in wanted]
        if 2 * len(fit) > len(unexpected):
            whole = len(fit) == len(unexpected) == len(missing)
            return _Prefixes(ahead, own, fit[0], whole)
    return None


def _cuts(key: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to cut a key at a dot, the shortest prefix first."""
    parts = key.split(".")
    for count in range(len(parts)):
        prefix = "".join(f"{part}." for part in parts[:count])
        yield prefix, key.removeprefix(prefix)


def _hit(history: History, load: StateLoaded, prefixes: _Prefixes | None) -> Hit | None:
    module = history.program.modules.get(load.module)
    kind = f"`{module.kind}`" if module is not None else "the module"
    call = history.quoted(load.site)
    if not load.given:
        left = _filtered(history, load)
        return left and Hit(
            f"{call} loads nothing, and {kind} keeps the values that it had: no key "
            f"of the state passes the condition {left.words(history)}.",
            left.chosen.site,
            left.fix(),
            symptom=load.site,
            line=left.chosen.line,
            certainty=0.8,
        )
    key, other = load.unexpected[0], load.missing[0]
    fix, edit, whole = "Rename the keys of the state", None, True
    if prefixes is not None:
        key = prefixes.sample
        other = prefixes.own + key.removeprefix(prefixes.given)
        new = prefixes.of("k")
        fix = f"Rename the keys: `{{{new}: v for k, v in state.items()}}`"
        whole = prefixes.whole
        if not (prefixes.own and load.fitting):  # what fits would be renamed, too
            edit = with_keys_renamed(load.site, new, strict=whole)
    rest = "look at what `load_state_dict` returns: the keys that still do not fit."
    if whole:
        rest = "leave `strict=False` out, so that keys which do not fit are an error."
    return Hit(
        f"{call} loads {load.fitting or 'none'} of {load.given} entries: {kind} has "
        f"`{other}` where the state has `{key}`. `strict=False` passes over what does "
        f"not fit, and {kind} keeps the values that it had.",
        load.site,
        f"{fix}, and {rest}",
        certainty=0.8 if prefixes is None else 0.9,
        edit=edit,
    )


@dataclass(frozen=True, slots=True)
class _Filter:
    """A condition that left a state empty, and who chose what it asks keys for."""

    text: str
    chosen: Decision

    def words(self, history: History) -> str:
        """Return the condition, with the string that it got from another line."""
        if not self.chosen.is_elsewhere:
            return f"`{self.text}`"
        place = history.line(self.chosen.site)
        return f"`{self.text}`, with `{self.chosen.text}` from {place}"

    def fix(self) -> str:
        """Return what to do about it."""
        if self.chosen.is_elsewhere:
            return (
                "Print the keys of the state that is filtered, and put what they have "
                f"in the place of `{self.chosen.text}`."
            )
        return (
            "Compare the keys of the state with those of the module's `state_dict()`: "
            "one of them has a prefix, perhaps, which is to be taken off before."
        )


def _filtered(history: History, load: StateLoaded) -> _Filter | None:
    """Return the condition that left a state empty, in a comprehension or a loop."""
    where = spot(history, load.site, load.stack)
    state = None if where is None else given(where, 0, ("state_dict",))
    last = None if state is None else choice(state)
    tests = [] if last is None else _tests(last)
    if last is None or not tests:
        return None
    asked = {each.node: each for test, _ in tests for each in strings_in(last.at(test))}
    text = shortened(" and ".join(_spelt(last, *each) for each in tests))
    here = last if isinstance(last.node, ast.DictComp) else last.at(tests[0][0])
    made = decided(history, here, load.site)
    if len(asked) != 1:
        return _Filter(text, made)
    (string,) = asked.values()
    inside = any(each is string.node for test, _ in tests for each in ast.walk(test))
    return _Filter(text, made if inside else decided(history, string, made.site))


def _tests(table: Spot) -> list[tuple[ast.expr, bool]]:
    """Return what was asked of each entry of a table, and the answer that it needs."""
    match table.node:
        case ast.DictComp(generators=loops):
            return [(test, True) for each in loops for test in each.ifs]
        case ast.Call(func, [ast.GeneratorExp() | ast.ListComp() as rows]) if (
            last_name(func) in _TABLES
        ):
            return [(test, True) for each in rows.generators for test in each.ifs]
        case ast.Dict(keys=[]):
            return _tests_of_loop(table)
        case ast.Call(func, [], []) if last_name(func) in _TABLES:
            return _tests_of_loop(table)
        case _:
            return []


def _tests_of_loop(table: Spot) -> list[tuple[ast.expr, bool]]:
    """Return what was asked before a loop put entries into a table made empty."""
    statement = table.source.statement(table.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {named(each) for each in targets}
    return [
        asked
        for each in own_nodes(table.scope)
        if any(put_by(each, name) is not None for name in names)
        for asked in asked_around(table.at(each))
    ]


def _spelt(where: Spot, test: ast.expr, holds: bool) -> str:
    text = where.source.of(test)
    if holds:
        return text
    return text.removeprefix("not ") if text.startswith("not ") else f"not {text}"
