"""Dropout draws masks while the program evaluates.

What it does
    Finds dropout layers in training mode under ``no_grad``, and in modules that are in
    evaluation mode ``F.dropout`` without ``training=``, or with ``training=True`` where
    single answers of the model are scored, attention that is told to drop weights
    there, and layers that ``forward`` makes anew.

Why is this bad
    Results are noise: evaluating twice gives two answers, and both are worse than the
    model.

Example
    ::

        with torch.no_grad():
            predictions = net(x)

Use instead
    ::

        net.eval()
        with torch.no_grad():
            predictions = net(x)

When it stays quiet
    A layer in training mode under ``no_grad`` is an information only: Monte Carlo
    dropout, teachers and generated samples look the same; not so where the program
    asks whether two of its results are equal. ``training=True`` where one input is
    answered several times, or answers are kept, averaged or no scores of classes. In a
    checkpoint, which runs its block without gradients and later again.

References
    https://pytorch.org/docs/stable/generated/torch.nn.Dropout.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.flow import name_of, words
from gradviz.dependence.learning import once
from gradviz.dependence.nesting import calls_in, outermost, within
from gradviz.dependence.op_families import BINARY_LOSSES, CLASS_LOSSES
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import or_uncalled
from gradviz.program import (
    Call,
    History,
    Module,
    ModuleCall,
    RawSite,
    TrainingSwitched,
    Value,
)

_FUNCTIONS = words(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout"
)

_ATTENTION = "scaled_dot_product_attention"
_EQUAL = words("equal allclose isclose")
_SWITCHES = ("training", "train")
_DECIDING = words(
    "softmax log_softmax sigmoid argmax max topk gt ge lt le round detach squeeze view "
    "flatten float long"
)
_SCORING = CLASS_LOSSES | BINARY_LOSSES | words("eq ne")


@rule("GV613", "dropout-active-in-eval", "warning")
def check(history: History) -> Iterator[Hit]:
    yield from _layers(history)
    yield from _functions(history)


def _layers(history: History) -> Iterator[Hit]:
    switched = {each.module for each in history.of(TrainingSwitched) if each.training}
    checkpointed, compared = _checkpointed(history), _compared(history)
    told = set[RawSite | None]()
    for call in history.of(ModuleCall):
        module = history.program.modules.get(call.module)
        if module is None or "Dropout" not in module.kind:
            continue
        if not call.training or call.module in switched or call.index in checkpointed:
            continue
        around = history.at(call.parent)
        if isinstance(around, ModuleCall) and not around.training:
            if module.site not in told:
                told.add(module.site)
                yield _unreached(history, call, module, around)
            continue
        if call.grad_enabled:
            continue
        outer = outermost(history, call.index) or call
        name = f"`{module.name}`" if module.name else "a layer"
        site, line, slip = or_uncalled(history, outer.site, "eval")
        yield Hit(
            f"Dropout {name} is in training mode while gradients are off: it draws a "
            f"new mask in every call.{slip}",
            site,
            "Call `.eval()` on the model before it is evaluated. For Monte Carlo "
            "dropout this is right.",
            symptom=outer.site,
            related=(Related("dropout constructed here", module.site),),
            severity="warning" if slip or outer.index in compared else "info",
            line=line,
            edit=called_at(site, line) if line is not None else None,
            certainty=0.6,
        )


def _unreached(
    history: History, call: ModuleCall, module: Module, around: ModuleCall
) -> Hit:
    """Tell of a layer that stays in training mode inside of one that evaluates."""
    owner = history.program.modules.get(around.module)
    kind = owner.kind if owner is not None else "the module around it"
    site = module.site or call.site
    made = in_code(history.text(module.site))
    return Hit(
        f"{history.quoted(site)} is in training mode while `{kind}`, which calls it, "
        "is in evaluation mode: it is no part of that module, so eval() does not reach "
        "it, and it draws a new mask in every call.",
        site,
        f"Make it once, in `__init__` of `{kind}`: `self.… = {made}`.",
        symptom=call.site,
        certainty=0.8,
    )


def _compared(history: History) -> set[int]:
    """Return the module calls whose results are asked to be equal to another's.

    Who averages results of dropout wants them to differ; who does this does not.
    """
    asked = (call for call in history.calls if call.op in _EQUAL)
    pairs = [
        (_module_call(history, call.inputs[0]), _module_call(history, call.inputs[1]))
        for call in asked
        if len(call.inputs) == 2
    ]
    return {
        each.index
        for one, other in pairs
        if one is not None and other is not None and one.module == other.module
        for each in (one, other)
    }


def _module_call(history: History, value: Value) -> ModuleCall | None:
    call = history.producer(value)
    return None if call is None else outermost(history, call.module)


def _checkpointed(history: History) -> set[int | None]:
    """Return the module calls in checkpoints, which run them without gradients first.

    Backward runs them again with the same mask.
    """
    outer = (call for call in history.calls if call.op == "checkpoint")
    return {e.module for call in outer for e in within(history).get(call.index, ())}


def _functions(history: History) -> Iterator[Hit]:
    for call in history.calls:
        if not _drops(call):
            continue
        around = history.at(call.module)
        if not isinstance(around, ModuleCall) or around.training:
            continue
        outer = outermost(history, around.index) or around
        argument, why = _argument(history, call), _why(history, call, outer)
        if argument is None or why is None:
            continue
        keyword, text, number = argument
        module = history.program.modules.get(around.module)
        name = f"`{module.kind}`" if module is not None else "its module"
        yield Hit(
            f"`{history.text(call.site)}` drops elements although {name} is in "
            f"evaluation mode: {why}",
            call.site,
            f"Pass `{keyword}={text}`.",
            symptom=outer.site,
            edit=with_keyword(call.site, keyword, text, number=number),
        )


def _argument(history: History, call: Call) -> tuple[str, str, int] | None:
    """Return the argument that lets a call know the mode: its name, text and place.

    None of attention that a layer of the library calls.
    """
    if name_of(call) != _ATTENTION:
        return "training", "self.training", 2
    where = spot(history, call.site, call.stack)
    share = None if where is None else given(where, 4, ("dropout_p",))
    if share is None:
        return None
    return "dropout_p", f"{ast.unparse(share.node)} if self.training else 0.0", 4


def _why(history: History, call: Call, outer: ModuleCall) -> str | None:
    """Return why a call drops elements in evaluation; None where it may be meant."""
    where = spot(history, call.site, call.stack)
    told = where is not None and name_of(call) != _ATTENTION
    mode = given(where, 2, _SWITCHES) if where and told else None
    if mode is None and "True" not in history.text(call.site):
        return "the function does not know the mode of the module."
    if mode and _is_true(mode) and outer.index in _scored_alone(history):
        return (
            f"`True` is fixed. {history.line(outer.site)} gives one random answer, "
            "which is scored as it is: two evaluations give two scores, both worse "
            "than the model is."
        )
    return None


def _drops(call: Call) -> bool:
    """Tell whether a call was told, or left, to drop elements, or attention weights."""
    if name_of(call) == _ATTENTION:
        return bool(call.keywords.get("dropout_p", [*call.arguments[4:5], 0.0][0]))
    if name_of(call) not in _FUNCTIONS:
        return False
    named = [call.keywords[name] for name in _SWITCHES if name in call.keywords]
    mode = [*call.arguments[2:3], *named]
    return not mode or mode[0] is True


def _is_true(mode: Spot) -> bool:
    return isinstance(mode.node, ast.Constant) and mode.node.value is True


@once
def _scored_alone(history: History) -> set[int]:
    """Return the evaluations whose results are compared with classes, each alone.

    Who wants random answers, as of Monte Carlo dropout, makes several of one input.
    """
    found, repeated = dict[int, int](), set[int]()
    last = dict[int, list[tuple[int, int, tuple[int, ...]]]]()
    for call in history.of(ModuleCall):
        if call.parent is not None:
            continue
        if call.training:
            last.pop(call.module, None)
            continue
        first = next(calls_in(history, call), None)
        read = [(v.storage, v.offset, v.shape) for v in first.inputs] if first else []
        if last.get(call.module) == read:
            repeated.add(call.module)
        last[call.module] = read
        made = history.call_at((call.left or 0) - 1)
        results = made.outputs if made is not None else ()
        if {end for each in results for end in _ends(history, each)} == {True}:
            found[call.index] = call.module
    return {index for index, module in found.items() if module not in repeated}


def _ends(history: History, value: Value) -> Iterator[bool]:
    """Yield whether scores meet classes, for each end of what is made of them."""
    for use in history.uses(value.tensor):
        if name_of(use) in _DECIDING:
            for each in use.outputs:
                if each.tensor != value.tensor:  # `float()` of floats gives itself
                    yield from _ends(history, each)
        else:
            yield name_of(use) in _SCORING
