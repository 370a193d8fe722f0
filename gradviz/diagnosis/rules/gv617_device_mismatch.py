"""An operation got tensors of different devices.

What it does
    Explains the refusal, and names where each operand was created or moved.

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

from gradviz.diagnosis._raised import failing
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import origin
from gradviz.program import Call, History, Value

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
    odd = _odd(list(call.inputs))
    site = origin(history, odd, "device")
    other = next(each for each in call.inputs if each.device != odd.device)
    ended = history.ended_by(call)
    return Hit(
        f"`{call.op}` got {history.name(odd, 'one operand')} on {odd.device} (since "
        f"{history.line(site)}) and {history.name(other, 'another')} on "
        f"{other.device}.",
        site or call.site,
        f"Move it: `.to({other.device!r})`, and keep the result; or create it there.",
        symptom=call.site,
        related=(Related("moved or created here", origin(history, other, "device")),),
        tensors=(odd.tensor,),
        severity=None if ended else "info",
        explains=ended,
    )


def _odd(operands: list[Value]) -> Value:
    """Return the operand that was left behind: rather data, and on the CPU."""
    behind = [each for each in operands if each.device == "cpu"] or operands
    data = [each for each in behind if not each.is_parameter]
    return (data or behind)[0]
