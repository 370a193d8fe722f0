"""A loss compares with noise that the model was not given.

What it does
    Finds losses whose target is a draw like some tensor (``randn_like(x)``), read by
    nothing else, where another draw like the same tensor went into the prediction.

Why is this bad
    The model is to tell which noise was added, and is asked about another one. Nothing
    can be learnt of that: the best answer is 0, and the loss stays at the variance of
    the noise.

Example
    ::

        noise = torch.randn_like(x)
        noisy = add_noise(x, t)  # draws its own
        loss = F.mse_loss(model(noisy, t), noise)

Use instead
    ::

        noise = torch.randn_like(x)
        noisy = add_noise(x, t, noise)
        loss = F.mse_loss(model(noisy, t), noise)

When it stays quiet
    Where the target went into the prediction, and where no draw like the same tensor
    did: targets may be drawn.

References
    https://arxiv.org/abs/2006.11239
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.cuts import sampled
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import DIFFERENCES, DISTANCES, plain
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_DRAWS = words("rand_like randn_like")


@rule("GV692", "noise-drawn-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that compares so."""
    drawn = [each for each in history.calls if plain(each.op) in _DRAWS]
    if len(drawn) < 2:
        return
    looked_at = set[RawSite | None]()  # a line does the same in every turn
    roots = [each.roots for each in sampled(history)]
    behind = history.behind([each for some in roots for each in some])
    for draw in drawn:
        uses = history.uses(draw.outputs[0].tensor) if draw.outputs else []
        if len(uses) != 1 or plain(uses[0].op) not in DISTANCES | DIFFERENCES:
            continue
        use = uses[0]
        made = {each.tensor for each in use.outputs}
        if use.site in looked_at or made.isdisjoint(behind):
            continue
        looked_at.add(use.site)
        other = _other(history, draw, use, drawn)
        if other is not None:
            yield _hit(history, draw, use, other)


def _other(history: History, draw: Call, use: Call, drawn: list[Call]) -> Call | None:
    """Return the draw like the same tensor that what is compared was made of."""
    target = draw.outputs[0].tensor
    guesses = [each for each in use.inputs if each.tensor != target]
    if len(guesses) != 1 or not (guesses[0].requires_grad and guesses[0].shape):
        return None
    behind = history.behind(guesses, use.index)
    like = {each.tensor for each in draw.inputs}
    for each in drawn:
        alike = each is not draw and like & {one.tensor for one in each.inputs}
        if alike and each.outputs and each.outputs[0].tensor in behind:
            return each
    return None


def _hit(history: History, draw: Call, use: Call, other: Call) -> Hit:
    asked = [site for site in other.frames if draw.site and site[0] is draw.site[0]]
    site = asked[0] if asked else other.site
    name = history.name(draw.outputs[0], "noise")
    return Hit(
        f"{history.quoted(use.site)} compares the output of the model with {name} "
        f"drawn in {history.line(draw.site)}, and the model was given other noise, "
        f"drawn in {history.line(other.site)}: of the former it knows nothing.",
        site,
        f"Draw once: use the noise of {history.line(draw.site)} here as well.",
        symptom=use.site,
        related=(
            Related("drawn and only compared with", draw.site),
            Related("drawn and given to the model", other.site),
        ),
        tensors=(draw.outputs[0].tensor, other.outputs[0].tensor),
        certainty=0.85,
    )
