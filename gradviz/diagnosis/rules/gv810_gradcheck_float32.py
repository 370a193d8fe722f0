"""GV810: ``gradcheck`` on inputs that are not float64.

What it does
    Finds checks that failed on float32 or smaller inputs, with the line that made them:
    of a helper that is told their dtype, the one that tells it, or does not.
Why is this bad
    ``gradcheck`` compares with finite differences of 1e-6. Float32 has 7 digits, so the
    differences are mostly rounding, and a right derivative fails.
Example
    ``gradcheck(torch.sin, (torch.tensor([0.5], requires_grad=True),))``
Use instead
    ``torch.tensor([0.5], dtype=torch.float64, requires_grad=True)``
When it stays quiet
    The check passed, the inputs are float64, or the derivative is really wrong.
References
    pytorch/pytorch#8659.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.learning import created_at
from gradviz.diagnosis.custom_functions import is_wrong
from gradviz.diagnosis.decisions.decision import Decision, of_option
from gradviz.diagnosis.edits.leaves import in_double
from gradviz.diagnosis.gradient_flow import origin
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History

_CHECKS = ("gradcheck", "gradgradcheck")
_COARSE = ("float32", "float16", "bfloat16", "complex64")


@rule("GV810", "gradcheck-float32", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the failed checks on coarse inputs."""
    for call in failed_checks(history):
        coarse = [
            value
            for value in call.inputs
            if value.requires_grad and value.dtype in _COARSE
        ]
        if not coarse or is_wrong(history):
            continue
        value = coarse[0]
        maker = origin(history, value, call.index)
        chosen = Decision(created_at(history, value.tensor))
        if maker is not None:
            chosen = of_option(history, maker, "dtype")
        made = chosen.site
        yield Hit(
            f"{call.op} got {history.name(value, 'an input')} as {value.dtype} "
            f"({history.line(made)}). It compares with finite differences of 1e-6, "
            f"which {value.dtype} cannot resolve, so a right derivative fails too.",
            culprit=made or call.site,
            fix="Make the inputs with `dtype=torch.float64`.",
            symptom=call.site,
            related=(Related("checked here", call.site),),
            tensors=(value.tensor,),
            edit=None if chosen.is_elsewhere else in_double(made or call.site),
            line=chosen.line,
            explains=True,
            certainty=0.8,
        )


def failed_checks(history: History) -> Iterator[Call]:
    """Yield the gradient checks that raised or returned False."""
    for call in history.calls:
        disagrees = (call.error or "").startswith("GradcheckError")
        if call.op in _CHECKS and (call.result is False or disagrees):
            yield call
