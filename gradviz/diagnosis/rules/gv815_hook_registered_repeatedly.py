"""GV815: the same hook sits on one tensor or module several times.

What it does
    Finds hooks with one source line that were registered again on the same target while
    the earlier ones were still there.
Why is this bad
    Each copy runs: a hook that halves the gradient divides it by 8 after the cell that
    registers it has run three times.
Example
    ``w.register_hook(lambda g: g * 0.5)`` in a notebook cell or a loop
Use instead
    Keep the handle, and call ``handle.remove()`` before registering again.
When it stays quiet
    The targets differ, as in a loop over layers, the hooks are methods of different
    objects, or the earlier hooks were removed.
References
    pytorch/pytorch#61446.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History, HookRan, HookRegistered

_SHORT = 70  # characters of a call that a fix writes out


@rule("GV815", "hook-registered-repeatedly", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the lines that registered a hook again and again."""
    groups: dict[object, list[HookRegistered]] = {}
    for hook in history.of(HookRegistered):
        target = hook.value.tensor if hook.value is not None else hook.target
        if hook.removed or hook.site is None or target is None:
            continue
        place = hook.site[0].co_filename, history.places.line(hook.site)
        groups.setdefault((hook.kind, target, place, _source(hook)), []).append(hook)
    for hooks in groups.values():
        if len(hooks) > 1:
            yield _hit(history, hooks)


def _source(hook: HookRegistered) -> object:
    """Return what tells the functions of hooks apart, in a re-run cell too."""
    code = hook.code
    if code is None:
        return None
    return code.co_firstlineno, code.co_code, code.co_consts, hook.owner


def _hit(history: History, hooks: list[HookRegistered]) -> Hit:
    keys = {hook.hook for hook in hooks}
    runs = [event for event in history.of(HookRan) if event.hook in keys]
    value, count, text = hooks[-1].value, len(hooks), history.text(hooks[-1].site)
    module = history.program.modules.get(hooks[-1].target or 0)
    part = "one module" if module is None or not module.name else f"`{module.name}`"
    name = part if value is None else history.name(value, "one tensor")
    changes = any(event.changed or event.returned for event in runs)
    effect = (
        "each of them changes the gradient once more"
        if changes
        else f"each pass runs all {count}, and keeps what they keep: time and memory "
        "grow"
    )
    kept = f"`hook = {text}`" if len(text) <= _SHORT and text else "what this returns"
    return Hit(
        f"{history.quoted(hooks[-1].site)} registered a hook on {name} {count} "
        f"times, and none was removed: {effect}.",
        culprit=hooks[-1].site,
        fix=f"Keep {kept}, and call `remove()` of it once the hook has served, or "
        "before it is registered again.",
        tensors=(value.tensor,) if value is not None else (),
        certainty=0.9 if changes else 0.6,
    )
