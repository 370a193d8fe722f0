"""GV107 optimizer-step-before-backward: weights changed while a graph needed them.

What it does
    Finds the optimizer step, or the manual update under ``no_grad()``, that changed
    parameters between a forward pass that saved them and its backward pass. Where a
    helper walks and steps for one loss after another, it names the line of the loss;
    where a function that a loss runs twice writes its weights, the line that does.

Why is this bad
    Linear, convolution and matmul save their weights to compute the gradient of their
    input. An optimizer steps in place. A loss computed before the step cannot be
    differentiated after it: the weights that it needs are gone.

Example
    g_loss = -disc(fake).mean()
    opt_d.step()
    g_loss.backward()

Use instead
    opt_d.step()
    g_loss = -disc(fake).mean()
    g_loss.backward()

When it stays quiet
    When every loss is differentiated before the step, or computed after it.

References
    PyTorch documentation: torch.optim, "Taking an optimization step".
    PyTorch notes: Autograd mechanics, "In-place correctness checks".
"""

from __future__ import annotations

import ast

from gradviz.dependence.learning import joined
from gradviz.dependence.nesting import frames_of
from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    version_words,
    weights_words,
    written_at,
)
from gradviz.diagnosis._words import place
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.decisions.frames import loops_around, spot
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._freed import built_at
from gradviz.diagnosis.rules._lifetime import loads, name_of
from gradviz.program import History, OptimizerCall, RawSite


def _message(history: History, found: Overwrite) -> str:
    computed = _computed_at(history, found) or found.node.site
    weights = weights_words(history, found)
    needs = f"still needs them as they were in {history.line(computed)}"
    if _run_again(history, found) is not None:
        needs = "needs them as each run found them"
    return (
        f"{place(history, found.site)} changes {weights} before "
        f"{_passed(history, found)}, which {needs} {version_words(found)}."
    )


def _passed(history: History, found: Overwrite) -> str:
    """Return the pass, by the loss it is for where a helper calls that otherwise."""
    passed, loss = place(history, found.backward.site), _loss(history, found)
    told = not loss or f"{loss}.backward" in history.text(found.backward.site)
    return passed if told else f"{passed} of `{loss}`"


def _loss(history: History, found: Overwrite) -> str:
    """Return what the program calls the loss of the pass, or nothing."""
    root = next(iter(found.backward.roots), None)
    return name_of(history, root, "").strip("`")


def _fix(history: History, found: Overwrite) -> str:
    steps = {each.site for each in history.of(OptimizerCall)}
    what = "step" if found.site in steps else "write"
    step = f"the {what} in {history.line(found.site)}"
    again = _run_again(history, found)
    if again is not None:
        return (
            f"{history.quoted(again)} writes each time that its function runs, also "
            "between two runs for one loss. Do it once per step, after the optimizer's."
        )
    computed = _computed_at(history, found)
    loop = _loop_over_losses(history, found)
    needed = computed is not None and _is_needed(history, found, computed)
    if loop is not None and needed:
        return (
            f"Move {step} behind the loop in line {loop.lineno}, so that backward() of "
            "every loss comes before the first step."
        )
    name = _loss(history, found)
    if loop is not None:
        loss = f"`{name}`" if name else f"the loss that {history.line(computed)} serves"
        return (
            f"The loop in line {loop.lineno} steps for another loss first. Let {loss} "
            "come first there."
        )
    if computed is not None and not needed:
        moved, below = _moved(history, found, computed), history.line(found.site)
        return f"Move {moved} below {below}, so that the new weights are used."
    loss = f"`{name}`" if name else "the loss"
    return (
        f"Compute {loss} after {step}, from the weights that it leaves; or call "
        "backward() of every loss before it, if none leaves gradients in parameters "
        "that another loss is to train."
    )


def _moved(history: History, found: Overwrite, computed: RawSite) -> str:
    """Return the lines to move: what computes, and what is computed from it there."""
    first, site = history.places.statement(computed), found.site
    names = set(history.places.targets(computed))
    if first is None or site is None or site[0] is not computed[0]:
        return history.line(computed)
    lines = [str(history.places.line(computed))]
    function = history.places.function(site[0])
    end = history.places.line(site)
    for each in own_nodes(function) if function is not None else ():
        if not isinstance(each, ast.Assign) or not first.lineno < each.lineno < end:
            continue
        if names & loads(each.value):
            names |= {ast.unparse(name) for name in each.targets}
            lines.append(str(each.lineno))
    return f"lines {joined(lines)}" if len(lines) > 1 else history.line(computed)


def _computed_at(history: History, found: Overwrite) -> RawSite | None:
    """Return the line that ran the operation, in the function of the pass if it can."""
    maker, passed = history.maker(found.node), found.backward.site
    frames = () if maker is None else frames_of(history, maker)
    here = (site for site in frames if passed and site[0] is passed[0])
    return next(here, None) or built_at(history, found.node, found.backward)


def _is_needed(history: History, found: Overwrite, computed: RawSite) -> bool:
    """Tell whether the loss of the pass before the step was computed there, too."""
    before = [each for each in history.backwards if each.index < found.backward.index]
    made = (
        history.producer(before[-1].roots[0]) if before and before[-1].roots else None
    )
    return made is not None and computed in made.frames


def _computed(history: History, found: Overwrite) -> Related:
    site = built_at(history, found.node, found.backward)
    return Related("computed before the step", site)


def _culprit(history: History, found: Overwrite) -> RawSite | None:
    """Return the line of the step; where any loss is given to it, that of this one."""
    again = _run_again(history, found)
    if again is not None:
        return again
    if _is_helper(history, found):
        return built_at(history, found.node, found.backward)
    return written_at(history, found)


def _run_again(history: History, found: Overwrite) -> RawSite | None:
    """Return the line that writes weights before its function saves them, at each run.

    A loss that takes two runs of it loses what the first one saved.
    """
    maker, passed = history.maker(found.node), found.backward
    if maker is None or found.call is None:
        return None
    saved = {site[0]: site for site in maker.frames}
    for site in found.call.frames:
        if any(site[0] is each[0] for each in passed.frames):
            return None
        twin = saved.get(site[0])
        if twin is not None:
            lines = history.places.line(site), history.places.line(twin)
            return site if lines[0] < lines[1] else None
    return None


def _is_helper(history: History, found: Overwrite) -> bool:
    """Tell whether the step follows on the pass, in a function or loop that ran before.

    Its order is right; who gave it several losses has computed one too early.
    """
    passed, stepped = found.backward.site, found.site
    if passed is None or stepped is None or passed[0] is not stepped[0]:
        return False
    function = history.places.function(stepped[0])
    if function is None or history.places.line(passed) >= history.places.line(stepped):
        return False
    built = built_at(history, found.node, found.backward)
    if built is None or built[0] is stepped[0]:
        needed = built is not None and _is_needed(history, found, built)
        return not needed and _loop_over_losses(history, found) is not None
    own = own_nodes(function)
    return not any(isinstance(each, ast.For | ast.While) for each in own)


def _loop_over_losses(history: History, found: Overwrite) -> ast.For | None:
    """Return the loop of a function that walks, and steps, for each loss of it."""
    made = built_at(history, found.node, found.backward)
    sites = found.backward.site, found.site, made
    passed, stepped, built = (spot(history, each) for each in sites)
    if passed is None or stepped is None or built is None:
        return None
    codes = {each[0] for each in sites if each is not None}
    if len(codes) > 1 or history.places.function(codes.pop()) is None:
        return None
    around, before = list(loops_around(passed)), list(loops_around(built))
    for loop in loops_around(stepped):
        if isinstance(loop, ast.For) and loop in around and loop not in before:
            return loop
    return None


RULE = overwrite_rule(
    "GV107",
    "optimizer-step-before-backward",
    "step",
    _message,
    _fix,
    _computed,
    culprit=_culprit,
)
