"""What goes wrong with gradients while training: said once, kept as findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradviz import ir
from gradviz.flow.judge import Usual, Verdict, judge
from gradviz.text.words import clean

_PATIENCE: dict[Verdict, int] = {  # looks in a row before it is news
    "not finite": 1,
    "exploding": 2,
    "vanishing": 3,
    "zero": 3,
    "none": 3,
}
_NAMED = 3  # parameters that a sentence names


@dataclass(frozen=True, slots=True)
class _Kind:
    code: str
    slug: str
    severity: ir.Severity
    fix: str


_KINDS: dict[Verdict, _Kind] = {
    "not finite": _Kind(
        "GV414",
        "nan-born-here",
        "error",
        "Record such a step, `with gradviz.record():`, to learn which line made the "
        "first NaN or Inf; until then skip steps whose loss is not finite.",
    ),
    "exploding": _Kind(
        "GV502",
        "exploding-gradient",
        "warning",
        "Lower the learning rate or warm it up, and clip with clip_grad_norm_ before "
        "the step.",
    ),
    "vanishing": _Kind(
        "GV501",
        "vanishing-gradient",
        "warning",
        "Use an activation that keeps the gradient (relu, gelu), normalisation, "
        "residual connections, or weights initialised for the activation.",
    ),
    "zero": _Kind(
        "GV503",
        "dead-relu",
        "warning",
        "Look at what follows this layer: a ReLU that is 0 for every element, or a "
        "factor that is 0. `with gradviz.record():` around a step names the line.",
    ),
    "none": _Kind(
        "GV601",
        "unused-submodule",
        "info",
        "Use it in forward, or give only the others to the optimizer.",
    ),
}


class Alarms:
    """Judges every look and remembers what it has said.

    ``say`` gets one sentence for each new finding.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self.findings: list[ir.Finding] = []
        self._say = say
        self._usual = Usual()
        self._streaks: dict[
            int, tuple[Verdict, int, int]
        ] = {}  # row: what, since, looks
        self._said: set[tuple[Verdict, int]] = set()

    def look(
        self,
        layers: Sequence[ir.FlowLayer],
        points: Sequence[ir.FlowPoint],
        number: int,
    ) -> bool:
        """Judge the gradients of one step; tell whether there is news.

        ``points`` are those of the layers that took part in the step.
        """
        mine = [layers[point.layer] for point in points]
        usual = [self._usual.of(point.layer) for point in points]
        verdicts = judge(mine, points, usual)
        if all(verdict == "none" for verdict in verdicts):
            return False
        news: dict[Verdict, list[int]] = {}
        for place, (point, verdict) in enumerate(zip(points, verdicts, strict=True)):
            if self._is_news(point.layer, verdict, number):
                news.setdefault(verdict, []).append(place)
            if verdict != "exploding":
                self._usual.add(point.layer, point.norm)
        for verdict, places in news.items():
            self._tell(verdict, places, layers, points, usual, number)
        return bool(news)

    def _is_news(self, row: int, verdict: Verdict, number: int) -> bool:
        if not verdict:
            self._streaks.pop(row, None)
            return False
        before = self._streaks.get(row)
        same = before is not None and before[0] == verdict
        since, looks = (before[1], before[2] + 1) if same and before else (number, 1)
        self._streaks[row] = verdict, since, looks
        if looks < _PATIENCE[verdict] or (verdict, row) in self._said:
            return False
        self._said.add((verdict, row))
        return True

    def _tell(
        self,
        verdict: Verdict,
        places: list[int],
        layers: Sequence[ir.FlowLayer],
        points: Sequence[ir.FlowPoint],
        usual: Sequence[float | None],
        number: int,
    ) -> None:
        kind = _KINDS[verdict]
        rows = [points[place].layer for place in places]
        since = min(self._streaks[row][1] for row in rows)
        names = _names([layers[row].name for row in rows])
        point = points[places[0]]
        count = layers[point.layer].count
        if verdict == "not finite":
            found = f"held {point.nans:,} NaN and {point.infs:,} Inf among {count:,}"
            text = f"At step {number:,} the gradient of {names} {found} elements"
            text += " (the first of them)." if len(rows) > 1 else "."
        elif verdict == "exploding":
            before = usual[places[0]]
            than = "" if before is None else f"; usual is {before:.3g}"
            text = f"At step {number:,} the gradient of {names} explodes: "
            text += f"its norm is {point.norm:.3g}{than}."
        elif verdict == "vanishing":
            text = f"Since step {since:,} the gradient of {names} vanishes: "
            text += f"its norm is {point.norm:.3g}, so that it hardly learns."
        elif verdict == "zero":
            text = f"Since step {since:,} the gradient of {names} is exactly 0 in all "
            text += "elements, so that it does not learn."
        else:
            text = f"Since step {since:,} {names} got no gradient, while others did."
        self.findings.append(
            ir.Finding(kind.code, kind.slug, kind.severity, text, kind.fix)
        )
        self._say(f"{kind.code} {kind.slug}: {text}")


def _names(names: list[str]) -> str:
    shown = ", ".join(f"`{clean(name, 80)}`" for name in names[:_NAMED])
    more = len(names) - _NAMED
    if more > 0:
        shown += f" and {more:,} more parameter" + ("s" if more > 1 else "")
    return shown
