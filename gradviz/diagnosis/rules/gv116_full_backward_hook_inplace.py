"""GV116 full-backward-hook-inplace: what a hooked module returned was written in place.

What it does
    Finds the in-place operation that was refused because a full backward hook wraps
    the inputs and outputs of a module; of a layer, who chose that it works in place.

Why is this bad
    ``register_full_backward_hook`` passes the module's tensors through a function of
    its own (``BackwardHookFunction``), whose results are views. Writing them in place,
    as ``ReLU(inplace=True)`` does, is refused, with a name that the program never used.

Example
    net[0].register_full_backward_hook(hook)
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))

Use instead
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=False))

When it stays quiet
    When neither the hooked module nor the one after it works in place.

References
    PyTorch documentation: torch.nn.Module.register_full_backward_hook.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._raised import Failure
from gradviz.diagnosis._refused import hit, refused
from gradviz.diagnosis._words import place
from gradviz.diagnosis.decisions.decision import Decision, of_write
from gradviz.diagnosis.edits.writes import out_of_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, HookRegistered, ModuleCall


@rule("GV116", "full-backward-hook-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, written, _ in refused(history, "BackwardHookFunction", "inplace"):
        hook = _hook(history, failure)
        module = (
            None if hook is None else history.program.modules.get(hook.target or -1)
        )
        owner = "a module"
        if module is not None:
            owner = f"`{module.name or module.kind}` ({module.kind})"
        at = None if hook is None else hook.site
        call = failure.call
        chosen = Decision(failure.site) if call is None else of_write(history, call)
        yield hit(
            failure,
            f"A full backward hook sits on {owner} ({place(history, at)}), so autograd "
            "wraps what goes in and out of it in views. "
            f"{place(history, failure.site)} writes such a view in place, which is "
            "refused.",
            "Use the operation that returns a new tensor there (`inplace=False`), or "
            "put a hook on the tensor with `register_hook` instead.",
            culprit=chosen.site,
            line=chosen.line,
            related=[Related("hook registered here", at)],
            written=written,
            edit=out_of_place(chosen.site),
        )


def _hook(history: History, failure: Failure) -> HookRegistered | None:
    """Return the full backward hook on the module that was entered last."""
    end = float("inf") if failure.call is None else failure.call.index
    entered = {
        event.module: event.index
        for event in history.of(ModuleCall)
        if event.index < end
    }
    hooks = [
        event
        for event in history.of(HookRegistered)
        if event.kind.startswith("module_full_backward") and event.index < end
    ]
    return max(
        hooks,
        key=lambda hook: (entered.get(hook.target or -1, -1), hook.index),
        default=None,
    )
