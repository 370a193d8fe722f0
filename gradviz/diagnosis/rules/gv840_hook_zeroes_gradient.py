"""A hook turns the whole gradient of a tensor into zeros.

What it does
    Compares the gradient that reaches a tensor with what its hooks make of it, in every
    pass: something came, and nothing but zeros went on. Names the line of the hook, or
    who chose the bound by which a mask selects nothing.

Why is this bad
    The parameters behind the tensor have a gradient, so nothing looks missing, and they
    never learn. A mask of the wrong shape or value, or a factor that has become 0, does
    this as well as ``grad.zero_()``.

Example
    ::

        mask = torch.zeros_like(layer.weight)
        layer.weight.register_hook(lambda grad: grad * mask)

Use instead
    ::

        layer.weight.requires_grad_(False)  # if it is not meant to learn

When it stays quiet
    Where some elements are left, in any pass: rows of an embedding that are frozen, a
    gradient that is masked or clipped.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence.nesting import by_function, modules_around
from gradviz.diagnosis._gradient_sharing import consumers
from gradviz.diagnosis.custom_functions import return_place
from gradviz.diagnosis.decisions.selections import Selection, empty_selection
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import any_nonzero
from gradviz.program import Backward, History, HookRan, HookRegistered, RawSite

_OF_MODULE = "module_full_backward"
_WRAPPER = "BackwardHookFunction"  # the node that a module's hooks sit on


@rule("GV840", "hook-zeroes-gradient", "warning")
def check(history: History) -> Iterator[Hit]:
    ran = {each.hook for each in history.of(HookRan) if each.changed or each.returned}
    hooks: dict[int, list[HookRegistered]] = defaultdict(list)
    for hook in history.of(HookRegistered):
        if hook.kind == "tensor" and hook.value is not None and hook.hook in ran:
            hooks[hook.value.tensor].append(hook)
    alike: dict[RawSite | int | None, list[int]] = defaultdict(list)
    for tensor, mine in hooks.items():
        value = mine[-1].value
        leaf = value is not None and value.is_leaf
        alike[tensor if leaf else mine[-1].site].append(tensor)
    for tensors in alike.values():  # results of one line: a strength may begin at 0
        met = [
            zero
            for tensor in tensors
            for each in history.backwards
            if (zero := _zeroed(history, each, hooks[tensor][0])) is not None
        ]
        if met and all(met):
            mine = hooks[tensors[0]][-1]
            yield _hit(history, _name(history, tensors[0], mine), mine)
    yield from _of_modules(history)


def _zeroed(history: History, backward: Backward, hook: HookRegistered) -> bool | None:
    """Return whether a pass brought a gradient that the hooks made zero of.

    None where the pass did not come by, or brought zeros.
    """
    assert hook.value is not None
    node, output = _node_of(history, backward, hook), hook.value.output
    came, left = False, None
    for run in backward.runs:
        behind = history.node(run.node)
        edges = () if behind is None else behind.next
        for edge, summary in zip(edges, run.outgoing, strict=False):
            if edge == (node, output):
                came |= any_nonzero([summary])
        if run.node == node and output < len(run.incoming):
            left = run.incoming[output]
    if not came or left is None:
        return None
    return left.zeros == left.count


def _of_modules(history: History) -> Iterator[Hit]:
    """Yield a hit for each module whose full backward hook lets only zeros through."""
    registered = [
        each for each in history.of(HookRegistered) if each.kind == _OF_MODULE
    ]
    hooks = {each.target: each for each in registered if not each.removed}
    passes: dict[int | None, list[bool]] = defaultdict(list)
    for run in (run for each in history.backwards for run in each.runs if hooks):
        node = history.node(run.node)
        if node is None or not node.name.startswith(_WRAPPER):
            continue
        around = _modules(history, run.node)
        target = next((key for key in around if key in hooks), None)
        came, went = (any_nonzero(each) for each in (run.incoming, run.outgoing))
        if target is not None and came:
            passes[target].append(not went and any(run.outgoing))
    for target, zeroed in passes.items():
        if zeroed and sum(zeroed) * 2 >= len(zeroed):  # one before it, one behind it
            row = history.program.modules.get(target or 0)
            name = f"`{row.name}`" if row is not None and row.name else "a module"
            yield _hit(history, name, hooks[target])


def _modules(history: History, node: int) -> Iterator[int]:
    """Yield the modules around what was computed from a node, innermost first."""
    for user, _ in consumers(history).get((node, 0), ()):
        yield from (each.module for each in modules_around(history, user.module))


def _node_of(history: History, backward: Backward, hook: HookRegistered) -> int | None:
    """Return the node that a tensor's gradient goes to."""
    assert hook.value is not None
    if hook.value.node is not None:
        return hook.value.node
    for run in backward.runs:
        node = history.node(run.node)
        if node is not None and node.leaf == hook.value.tensor:
            return run.node
    return None


def _hit(history: History, name: str, hook: HookRegistered) -> Hit:
    site, line = _place(history, hook)
    found, why = _selection(history, hook), ""
    if found is not None:
        site, line = site_of(history, found.chosen), found.chosen.line
        why = (
            f" {history.quoted(found.call.site)} selects nothing, so the mask of the "
            "hook is 0 everywhere."
        )
    leaf = hook.value is not None and hook.value.is_leaf
    effect = (
        f"{name} never learns"
        if leaf
        else f"No gradient gets past {name}, so the layers before it never learn"
    )
    return Hit(
        f"{effect}: the hook registered in {history.line(hook.site)} sets the whole "
        f"gradient to 0.{why}",
        site,
        f"Correct the selection in {history.line(found.call.site)}."
        if found is not None
        else "Let the hook return the part of the gradient that is meant to go on.",
        line=line,
        symptom=history.backwards[-1].site,
        related=(
            Related("hook registered here", hook.site),
            Related("selection is empty here", found.call.site if found else None),
        ),
        tensors=() if hook.value is None else (hook.value.tensor,),
        certainty=0.8,
    )


def _name(history: History, tensor: int, hook: HookRegistered) -> str:
    """Return the name of a tensor, or the text that its hook is registered on."""
    text, method, _ = history.text(hook.site).partition(".register_hook(")
    on = f"`{text}`" if method and text.replace(".", "").isidentifier() else "a tensor"
    return history.name(tensor, on)


def _selection(history: History, hook: HookRegistered) -> Selection | None:
    """Return why what a hook multiplies a gradient with is 0 all over."""
    for call in by_function(history).get(hook.code, ()):
        for each in call.inputs:
            summary = each.summary
            if summary is not None and summary.zeros == summary.count:
                found = empty_selection(history, each, call.index)
                if found is not None:
                    return found
    return None


def _place(history: History, hook: HookRegistered) -> tuple[RawSite | None, int | None]:
    """Return the line of a hook that writes the gradient, or returns another one."""
    for call in by_function(history).get(hook.code, ()):
        if call.writes:
            return call.site, None
    site, line = return_place(history, hook.code)
    return (hook.site, None) if site is None else (site, line)
