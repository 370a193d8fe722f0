"""Run every rule over a log, put the most likely cause first, number the places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from gradviz import ir
from gradviz.diagnosis._words import begun_large
from gradviz.diagnosis.edits.draft import Edit
from gradviz.diagnosis.measured import Measured, measured
from gradviz.diagnosis.rule import LAST_RESORT, Hit, Related, Rule, Severity
from gradviz.diagnosis.rules import all_rules
from gradviz.program import History, Program, Raised, RawSite
from gradviz.text.places import package_of
from gradviz.text.words import counted

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class LookedAt:
    """How much of a run the rules were given."""

    passes: int
    operations: int
    optimizers: int
    of_passes: int = 0  # that the run had, where the log has dropped some

    def __bool__(self) -> bool:
        return bool(self.passes or self.operations or self.optimizers)

    def __str__(self) -> str:
        passes = counted(self.passes, "backward pass")
        if self.of_passes > self.passes:
            whole = counted(self.of_passes, "backward pass")
            passes = f"the {self.passes:,} recorded of {whole}"
        parts = [
            *([passes] if self.passes else []),
            counted(self.operations, "operation"),
            *([counted(self.optimizers, "optimizer")] if self.optimizers else []),
        ]
        none = "" if self.passes else " and no backward pass"
        return f"{', '.join(parts)}{none}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings of one run, with the places and texts they refer to."""

    findings: tuple[ir.Finding, ...]
    sites: tuple[ir.Site, ...]
    sources: tuple[ir.Source, ...]
    hits: tuple[tuple[Rule, Hit], ...] = ()  # what the findings were made of
    notes: tuple[str, ...] = ()  # rules that failed, things that could not be seen
    looked_at: LookedAt | None = None  # None: at a finished graph
    replacements: tuple[ir.Replacement, ...] = ()  # of the edits
    measured: Measured | None = None  # None: at a finished graph

    def __len__(self) -> int:
        return len(self.findings)

    def only(self, rows: Iterable[int]) -> Diagnosis:
        """Return it with the findings of these rows alone."""
        kept = list(rows)
        return replace(
            self,
            findings=tuple(self.findings[row] for row in kept),
            hits=tuple(self.hits[row] for row in kept if row < len(self.hits)),
        )

    @property
    def causes(self) -> int:
        """How many causes were found."""
        return len(self.findings)

    @property
    def explains(self) -> bool:
        """Whether a finding is the cause of an exception that was raised."""
        return any(hit.explains for _, hit in self.hits[:1])

    @property
    def verdict(self) -> str:
        """Whether anything was found, and in what: "no findings in 1 backward pass"."""
        found = f"found {counted(self.causes, 'cause')}" if self else "no findings"
        return f"{found} in {self.looked_at}" if self.looked_at else found

    def __repr__(self) -> str:
        from gradviz.text.findings import findings_text  # late: only to be read

        verdict = f"{self.verdict[0].upper()}{self.verdict[1:]}."
        return "\n\n".join([verdict, findings_text(self)]) if self else verdict


def diagnose(run: Program | History, rules: Sequence[Rule] | None = None) -> Diagnosis:
    """Return the findings of all rules, most likely cause first.

    A rule that raises is named in the notes; the others go on.
    """
    history = History(run) if isinstance(run, Program) else run
    notes = list(history.program.notes)
    found: list[tuple[Rule, Hit]] = []
    for rule in all_rules() if rules is None else rules:
        try:
            found += [(rule, _placed(hit, history)) for hit in rule.check(history)]
        except Exception as error:
            notes.append(
                f"Rule {rule.code} {rule.slug} was skipped: it raised "
                f"{type(error).__name__}: {error}"
            )
    ranked = _without_repeats(_answers(sorted(found, key=_rank)), history)
    replacements: list[ir.Replacement] = []
    findings = tuple(
        _with_edit(_finding(rule, hit, history), _edit(hit, history), replacements)
        for rule, hit in ranked
    )
    table = history.places.table
    return Diagnosis(
        findings,
        tuple(table.rows),
        table.sources(),
        tuple(ranked),
        tuple(notes),
        _looked_at(history),
        tuple(replacements),
        measured(history),
    )


def _edit(hit: Hit, history: History) -> Edit | None:
    """Return the edit that makes a hit's fix; what cannot be edited has none.

    A finding without an edit is worth more than none: whatever fails here is let go.
    """
    edit = None
    if hit.edit is not None:
        with suppress(Exception):
            edit = hit.edit(history)
    return None if edit is None or package_of(edit.file) else edit


def _with_edit(
    finding: ir.Finding, edit: Edit | None, rows: list[ir.Replacement]
) -> ir.Finding:
    if edit is None:
        return finding
    first = len(rows)
    rows += edit.replacements
    numbers = tuple(range(first, len(rows)))
    return replace(finding, edit=numbers, safe=edit.safe, diff=edit.diff)


def _looked_at(history: History) -> LookedAt:
    return LookedAt(
        passes=len(history.backwards),
        operations=len(history.calls),
        optimizers=len(history.program.optimizers),
        of_passes=max((each.number for each in history.backwards), default=0),
    )


def _answers(ranked: list[tuple[Rule, Hit]]) -> list[tuple[Rule, Hit]]:
    """Keep one hit that explains the exception: the others say again why it came.

    The last resorts go where there is a better answer.
    """
    explaining = [row for row in ranked if row[1].explains][:1]
    rest = [row for row in ranked if not row[1].explains]
    found = [row for row in [*explaining, *rest] if _severity(*row) != "info"]
    if any(hit.certainty > LAST_RESORT for _, hit in found):
        rest = [row for row in rest if row[1].certainty > LAST_RESORT]
    return [*explaining, *rest]


def _placed(hit: Hit, history: History) -> Hit:
    """Let a hit explain the last exception only, where several cells have failed."""
    if not hit.explains or history.once(_failing_sites) is None:
        return hit
    sites = history.once(_failing_sites) or set()
    if hit.symptom in sites or (hit.symptom is None and hit.culprit in sites):
        return hit
    return replace(hit, explains=False)


def _failing_sites(history: History) -> set[RawSite | None] | None:
    """Return the places of the last of several exceptions; None where one ended all."""
    raised = history.of(Raised)
    if len(raised) < 2:
        return None
    events = [*history.calls, *history.backwards]
    ended = {event.site for event in events if history.ended_by(event)}
    return ended | {raised[-1].site}


def _rank(found: tuple[Rule, Hit]) -> tuple[int, int, float, str]:
    rule, hit = found
    return not hit.explains, _ORDER[_severity(rule, hit)], -hit.certainty, rule.code


def _severity(rule: Rule, hit: Hit) -> Severity:
    """Return how grave it is; what ended the run is an error, whatever it is else."""
    return "error" if hit.explains else hit.severity or rule.severity


def _without_repeats(
    ranked: Iterable[tuple[Rule, Hit]], history: History
) -> list[tuple[Rule, Hit]]:
    """Keep the first hit of each rule on each line: a loop makes many alike.

    A remark about nodes that a finding is about already adds nothing to it, nor does
    what else is said of the line that explains the exception.
    """
    seen: set[tuple[str, object]] = set()
    explained: tuple[str, int] | None = None
    told: set[int] = set()
    kept: list[tuple[Rule, Hit]] = []
    for rule, hit in ranked:
        place = _place(hit, history)
        key = rule.code, place
        remark = _severity(rule, hit) == "info"
        if key in seen or (remark and hit.nodes and told.issuperset(hit.nodes)):
            continue
        if place is not None and place == explained:
            continue
        if hit.explains:
            explained = place
        seen.add(key)
        kept.append((rule, hit))
        told.update(() if remark else hit.nodes)
    return kept


def _place(hit: Hit, history: History) -> tuple[str, int] | None:
    """Return the file and line that a hit blames."""
    if hit.culprit is None:
        return None
    line = hit.line or history.places.line(hit.culprit)
    return hit.culprit[0].co_filename, line


def _finding(rule: Rule, hit: Hit, history: History) -> ir.Finding:
    related = [each for each in hit.related if each.site is not None]
    related = [*_users_line(history, hit), *related]
    return ir.Finding(
        code=rule.code,
        slug=rule.slug,
        severity=_severity(rule, hit),
        message=begun_large(_with_unseen(history, hit)),
        fix=begun_large(hit.fix),
        culprit=_row(history, hit.culprit, hit.line),
        symptom=_row(history, hit.symptom),
        related=tuple(
            row
            for each in related
            if (row := _row(history, each.site, _definition(history, each.site)))
            is not None
        ),
        roles=tuple(each.role for each in related),
    )


def _users_line(history: History, hit: Hit) -> list[Related]:
    """Return the user's line that led into a library, where one is to blame."""
    site = hit.culprit
    if site is None or not package_of(site[0].co_filename):
        return []
    users = history.once(_callers_of_libraries).get(site)
    return [] if users is None else [Related("your line", users)]


def _callers_of_libraries(history: History) -> dict[RawSite, RawSite]:
    """Map places in libraries to the innermost line around them that is in none."""
    found: dict[RawSite, RawSite] = {}
    for event in history.events:
        site = event.site
        if site is None or site in found or not package_of(site[0].co_filename):
            continue
        for each in event.stack:
            if not package_of(each[0].co_filename):
                found[site] = each
                break
    return found


def _with_unseen(history: History, hit: Hit) -> str:
    """Return the message, and that the line to blame hides what it does, if so."""
    hidden = history.program.unseen.get(hit.culprit) if hit.culprit else None
    return f"{hit.message} {hidden}" if hidden else hit.message


def _definition(history: History, raw: RawSite | None) -> int | None:
    """Return the line of the word "def" for a site that is a function as a whole."""
    if raw is None or raw[1] != 0:
        return None
    function = history.places.function(raw[0])
    return None if function is None else function.lineno


def _row(history: History, raw: RawSite | None, line: int | None = None) -> int | None:
    if raw is None:
        return None
    table = history.places.table
    row = table.add(raw)
    if line is None or row is None:
        return row
    text = history.places.source_line(raw[0].co_filename, line)
    column, end = history.places.columns(raw[0].co_filename, line)
    site = replace(
        table.rows[row],
        line=line,
        end_line=line,
        column=column if text else None,
        end_column=end if text else None,
        text=text,
    )
    table.rows.append(site)
    return len(table.rows) - 1
