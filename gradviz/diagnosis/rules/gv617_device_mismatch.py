"""An operation got tensors of different devices.

What it does
    Explains the refusal, and names where each operand was created or moved. Of a plain
    attribute of a module, the line that keeps it: a buffer would move with the module.

Why is this bad
    Nothing moves by itself between devices. ``x.to(device)`` returns a new tensor; a
    module moves in place.

Example
    ::

        net.to("cuda")
        net(torch.ones(4, 3))

Use instead
    ::

        net.to("cuda")
        net(torch.ones(4, 3, device="cuda"))

When it stays quiet
    Where the program handles the error, it is an information only.

References
    https://pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.lineage import behind
from gradviz.diagnosis._raised import failing
from gradviz.diagnosis.decisions.keeping import kept_by
from gradviz.diagnosis.decisions.sites import site_at
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import origin
from gradviz.program import Call, History, RawSite, Value

_SENTENCES = (
    "to be on the same device",
    "is not on the expected device",
    "expected device",
    "same device",
)


@rule("GV617", "device-mismatch", "error")
def check(history: History) -> Iterator[Hit]:
    for call in failing(history, *_SENTENCES):
        if len({each.device for each in call.inputs}) > 1:
            yield _hit(history, call)


def _hit(history: History, call: Call) -> Hit:
    left = next(filter(None, (_attribute(history, call, e) for e in call.inputs)), None)
    odd = _odd(list(call.inputs)) if left is None else left[0]
    site = origin(history, odd, "device") if left is None else left[1]
    other = next(each for each in call.inputs if each.device != odd.device)
    ended = history.ended_by(call)
    fix = f"Move it: `.to({other.device!r})`, and keep the result; or create it there."
    why = ""
    if left is not None:
        why = " It is a plain attribute of a module, which does not move with it."
        fix = "Keep it with `self.register_buffer(...)`, so that it moves along."
    return Hit(
        f"`{call.op}` got {history.name(odd, 'one operand')} on {odd.device} (since "
        f"{history.line(site)}) and {history.name(other, 'another')} on "
        f"{other.device}.{why}",
        site or call.site,
        fix,
        symptom=call.site,
        related=(Related("moved or created here", origin(history, other, "device")),),
        tensors=(odd.tensor,),
        severity=None if ended else "info",
        explains=ended,
    )


def _attribute(
    history: History, call: Call, operand: Value
) -> tuple[Value, RawSite | None] | None:
    """Return an operand that a constructor made, with the line that kept it.

    Of what a module keeps, parameters and buffers alone move with it: no parameter is
    where this one is.
    """
    seen = learning.last_seen(history)
    known = (seen[each] for each in learning.parameters(history) if each in seen)
    devices = {each.device for each in known}
    moved = bool(devices) and operand.device not in devices
    for made in behind(history, operand, call.index) if moved else ():
        if any(each.is_parameter for each in (*made.inputs, *made.outputs)):
            return None
        constructs = any(site[0].co_name == "__init__" for site in made.frames)
        if made.module is None and constructs:
            line = kept_by(history, call.frames, made.frames)
            site = None if line is None else site_at(history, call.site, line)
            return None if site is None else (operand, site)
    return None


def _odd(operands: list[Value]) -> Value:
    """Return the operand that was left behind: rather data, and on the CPU."""
    left = [each for each in operands if each.device == "cpu"] or operands
    data = [each for each in left if not each.is_parameter]
    return (data or left)[0]
