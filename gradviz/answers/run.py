"""What answers are made of: a run, its findings, and how to say where something was."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from gradviz import ir
from gradviz.answers.answer import Step, StepKind, Why
from gradviz.dependence import learning
from gradviz.dependence.graph import Dependence
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.diagnosis.rule import Hit
from gradviz.program import (
    Backward,
    Call,
    Event,
    History,
    Optimizer,
    RawSite,
    Summary,
    Value,
)
from gradviz.text.findings import place_of
from gradviz.text.words import clip

_LONGEST = 60  # characters of an expression in a sentence


@dataclass(slots=True)
class Gradients:
    """What backward passes did to one leaf."""

    passes: list[Backward] = field(default_factory=list[Backward])  # that reached it
    came: list[tuple[Backward, Summary]] = field(
        default_factory=list[tuple[Backward, Summary]]
    )  # what they gave it, where values were looked at


class Run:
    """One run and what was found in it, as all answers about it need it."""

    def __init__(self, history: History, diagnosis: Diagnosis) -> None:
        self.history = history
        self.diagnosis = diagnosis
        self.known: dict[tuple[int, str], Why] = {}  # answers about parameters
        self._root_lines: dict[int, str] = {}  # by index of a pass
        self._norms: dict[int, list[float]] = {}  # by index of a pass

    @property
    def visited(self) -> int:
        """How many vertices of the graph were looked at for answers so far."""
        return self.graph.visited

    @property
    def graph(self) -> Dependence:
        """The dependence graph of the run, built when it is first asked for."""
        return self.history.once(Dependence)

    # ---- places --------------------------------------------------------------------

    def site(self, raw: RawSite | None) -> ir.Site | None:
        """Return file, line and text of a place."""
        if raw is None:
            return None
        return replace(self.history.places.site(raw), source=None)

    def place(self, raw: RawSite | None) -> str:
        """Return "train.py:10"; "" where it is not known."""
        if raw is None:
            return ""
        places = self.history.places
        return place_of(places.site(raw), places.table.sources())

    def at(self, raw: RawSite | None) -> str:
        """Return "in line 10 (`encoder(inputs)`)"."""
        text = self.history.text(raw)
        return f"in {self.line(raw)}{f' (`{clip(text, _LONGEST)}`)' if text else ''}"

    def line(self, raw: RawSite | None) -> str:
        """Return "line 10"."""
        return self.history.line(raw)

    def step(
        self,
        kind: StepKind,
        sentence: str,
        raw: RawSite | None = None,
        *,
        event: Event | None = None,
        value: Value | None = None,
        decision: bool = False,
    ) -> Step:
        """Return a step of an answer; its place is the event's, where none is given."""
        place = event.site if raw is None and event is not None else raw
        return Step(
            kind,
            sentence,
            self.site(place),
            self.place(place),
            None if event is None else event.index,
            None if value is None else value.tensor,
            None if value is None else value.node,
            decision,
        )

    @staticmethod
    def undecided(step: Step) -> Step:
        """Return a step that is not where the decision was made."""
        return replace(step, decision=False)

    # ---- names ---------------------------------------------------------------------

    def name(self, tensor: Value | int, fallback: str = "a tensor") -> str:
        """Return what the program calls a tensor, without marks."""
        return self.history.name(tensor, "").strip("`") or fallback

    def root_line(self, backward: Backward) -> str:
        """Return "line 11": where what a pass began at was made, and got its name."""
        known = self._root_lines.get(backward.index)
        if known is None:
            known = self._root_lines[backward.index] = self._root_line(backward)
        return known

    def _root_line(self, backward: Backward) -> str:
        root = backward.roots[0] if backward.roots else None
        made = (
            None if root is None else self.history.last_producer(root, backward.index)
        )
        if root is None or made is None:
            return self.line(backward.site)
        named = self.history.once(_named_lines).get(backward.site)
        return self.line(made.site if named is None else named)

    def root_words(self, backward: Backward) -> str:
        """Return "`loss` of line 11" for what a pass began at."""
        root = backward.roots[0] if backward.roots else None
        name = "" if root is None else self.history.name(root, "")
        return f"{name or 'the loss'} of {self.root_line(backward)}"

    # ---- facts ---------------------------------------------------------------------

    def known_like(self, backward: Backward) -> Backward | None:
        """Return the last pass of the same loss that is known in full.

        None where each was looked at in brief, or raised: what its log does not hold,
        such as a call that cut the graph, may have been there all the same.
        """
        line = self.root_line(backward)
        for each in reversed(self.history.known_in_full):
            same = each.site == backward.site and self.root_line(each) == line
            if same and each.error is None:
                return each
        return None

    def gradients(self, tensor: int) -> Gradients:
        """Return what passes gave a leaf."""
        return self.history.once(_gradients).get(tensor) or Gradients()

    def norms(self, backward: Backward) -> list[float]:
        """Return the norms that one pass gave its leaves, as far as they are known."""
        known = self._norms.get(backward.index)
        if known is None:
            came = [each.norm for _, each in backward.at_leaves()]
            known = self._norms[backward.index] = [n for n in came if n is not None]
        return known

    def last_value(self, tensor: int) -> Value | None:
        """Return a tensor as the last call saw it."""
        return learning.last_seen(self.history).get(tensor)

    def optimizers(self, tensor: int) -> list[Optimizer]:
        """Return the optimizers that hold a tensor."""
        known = self.history.program.optimizers.values()
        return [each for each in known if tensor in each.tensors]

    def steps_of(self, optimizers: list[Optimizer]) -> int:
        """Return how often any of some optimizers stepped."""
        keys = {each.key for each in optimizers}
        return sum(each.optimizer in keys for each in learning.steps(self.history))

    def updates(self, tensor: int) -> list[Call]:
        """Return the calls that wrote a leaf's memory since the first pass."""
        value = self.last_value(tensor)
        passes = self.history.backwards
        if value is None or not passes:
            return []
        found = self.history.writes(value.storage, passes[0].index)
        return [call for call, _ in found]

    def learnable(self) -> list[int]:
        """Return the parameters of the run that require grad."""
        seen = learning.last_seen(self.history)
        table = self.history.program.tensors
        return [
            key
            for key, facts in table.items()
            if facts.is_parameter and (key not in seen or seen[key].requires_grad)
        ]

    def hit(self, tensors: set[int], codes: tuple[str, ...]) -> tuple[str, Hit] | None:
        """Return the first finding about some tensors, and its code."""
        for rule, hit in self.diagnosis.hits:
            about = tensors & set(hit.tensors)
            told = about and not hit.explains  # that is the error's
            if told and rule.code.startswith(codes):
                return rule.code, hit
        return None


def _gradients(history: History) -> dict[int, Gradients]:
    found: dict[int, Gradients] = defaultdict(Gradients)
    for backward in history.backwards:
        if backward.api != "backward":
            continue
        met: set[int] = set()
        for key, summary in backward.at_leaves():
            node = history.node(key)
            if node is not None and node.leaf is not None:
                found[node.leaf].came.append((backward, summary))
                met.add(node.leaf)
        # One that raised gave a gradient to none but those that it had come to by then.
        is_over = backward.error is None
        for leaf in backward.accumulates_into:
            if is_over or leaf in met:
                found[leaf].passes.append(backward)
    return found


def _named_lines(history: History) -> dict[RawSite | None, RawSite]:
    """Map passes to the line that gave their root its name: `loss = criterion(…)`.

    The frames around a call are not noted in every step; one step tells of all.
    """
    found: dict[RawSite | None, RawSite] = {}
    for backward in history.backwards:
        for root in () if backward.site in found else backward.roots:
            facts = history.program.tensors.get(root.tensor)
            made = history.last_producer(root, backward.index)
            name = None if facts is None else facts.name
            for site in () if made is None else made.frames:
                if name in history.places.targets(site):
                    found.setdefault(backward.site, site)
    return found
