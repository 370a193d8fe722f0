"""``gradviz fix``: what was found as changes to the user's files, tried and written."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from gradviz import ir
from gradviz.cli.arguments import at_least, wants_color
from gradviz.cli.run import split_run
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from gradviz.diagnosis.diagnose import Diagnosis
    from gradviz.running.ending import Ending
    from gradviz.running.main_module import Program
    from gradviz.running.script import Outcome
    from gradviz.running.trial import Trial
    from gradviz.running.voice import Voice

_FIX = """\
Runs SCRIPT with its arguments, recorded as by `gradviz run`, and then shows what to
write instead of the lines to blame, as a unified diff on stderr. Nothing is changed
unless you say so.

  gradviz fix train.py            show every change that a finding proposes
  gradviz fix --try train.py      run the script again with each change, and say what
                                  came of it; your files stay as they are
  gradviz fix --write train.py    write the safe changes: those that leave what the
                                  program computes as it was meant
  gradviz fix --write --unsafe train.py
                                  write the others, too: they take a side where another
                                  line could be the wrong one
  gradviz fix --try --write train.py
                                  write what was tried with success
  gradviz fix --json out.json train.py
                                  what is shown, for other programs
"""

_STATUS = """\
The exit status is 0 if nothing is left to change, 1 if there are changes that were not
written (or, with --try, none that helped), 2 if the script cannot be run or a file
cannot be written.

A trial runs the changed program in a process of its own, in a temporary copy of the
folder: it reads your files, and what it would write to them is refused. Random numbers
are as the script seeds them; without a seed, losses differ between any two runs.
"""

_VALUED = {"--engine", "--timeout", "--json"}
_FLAGS = {"--write", "--unsafe", "--try"}
_GREEN, _RED, _CYAN, _BOLD, _PLAIN = (
    "\x1b[32m", "\x1b[31m", "\x1b[36m", "\x1b[1m", "\x1b[0m",
)  # fmt: skip
_WIDTH = 88
_LEAST_S = 60  # that a trial may take; more if the script takes more


def add_fix(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the others."""
    fix = commands.add_parser(
        "fix",
        help="show, try and write what to change in a script",
        description=_FIX,
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="gradviz fix [options] (SCRIPT | -m MODULE) [options] [--] "
        "[arguments of the script …]",
        allow_abbrev=False,
    )
    what = fix.add_mutually_exclusive_group()
    what.add_argument("script", nargs="?", type=Path, metavar="SCRIPT")
    what.add_argument("-m", dest="module", metavar="MODULE", help="run this module")
    fix.add_argument(
        "--engine",
        choices=["torch", "gradtape"],
        help="what `import torch` gives; default: as for `gradviz run`",
    )
    fix.add_argument("--write", action="store_true", help="write the safe changes")
    fix.add_argument("--unsafe", action="store_true", help="with --write: all of them")
    fix.add_argument(
        "--try",
        dest="attempt",
        action="store_true",
        help="run the script again with each change, and say what came of it",
    )
    fix.add_argument(
        "--timeout",
        type=at_least(1),
        metavar="S",
        help="seconds that one trial may take; default: ten times as long as the "
        f"script took, {_LEAST_S} at least",
    )
    fix.add_argument(
        "--json", type=Path, metavar="OUT", help="write what is shown as data, too"
    )
    fix.set_defaults(execute=_fix)


def split_fix(given: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of ``fix`` into ours and the script's."""
    return split_run(given, _VALUED, _FLAGS)


@dataclass(slots=True)
class Proposal:
    """A change to one file, of a finding."""

    finding: ir.Finding
    place: str  # "train.py:10"
    file: str
    replacements: tuple[ir.Replacement, ...]
    before: str  # text of the file as it ran
    after: str
    helped: bool | None = None  # None: not tried
    told: tuple[str, ...] = ()  # what came of trying it, line by line

    @property
    def name(self) -> str:
        """Code and slug of the finding."""
        return f"{self.finding.code} {self.finding.slug}"


@dataclass(slots=True)
class _Job:
    """One call of the command, up to its exit status."""

    program: Program
    options: argparse.Namespace
    voice: Voice
    began: float = field(default_factory=monotonic)
    began_at: float = field(default_factory=time)  # as files are dated
    status: int = 0

    def deliver(self, outcome: Outcome) -> None:
        """Show, try and write what a run has found."""
        took = monotonic() - self.began
        self.status = 2
        with self.voice.failures("what was found"):
            try:
                self.status = self._answer(outcome, took)
            except GradvizError as error:
                self.voice.say(f"gradviz fix: {error}")

    def _answer(self, outcome: Outcome, took: float) -> int:
        diagnosis = outcome.diagnosis
        if diagnosis is None:
            return 2
        found = proposals(diagnosis)
        color = wants_color(self.voice.stream)
        until = " until the script raised" if outcome.error else ""
        self.voice.say(f"gradviz: {diagnosis.verdict}{until}.")
        for each in diagnosis.findings:
            mine = next((p for p in found if p.finding is each), None)
            if mine is None and each.severity == "info":
                continue  # a remark, mostly on what another finding changes
            if mine is None:
                self.voice.say("", _without_edit(each, diagnosis))
                continue
            self.voice.say("", shown(mine, color=color))
            if self.options.attempt:
                self._attempt(mine, outcome, took)
        if self.options.json is not None:
            _write_data(self.options.json, diagnosis, found)
        if not diagnosis.findings:
            return 0
        if not found:
            self.voice.say("", "gradviz: no finding has a change that is certain.")
            return 1
        return self._write(found)

    def _attempt(self, proposal: Proposal, outcome: Outcome, took: float) -> None:
        from gradviz.running.trial import trial_of, tried

        limit = self.options.timeout or max(_LEAST_S, 10 * took)
        module = self.options.module
        after = tried(
            module or str(self.options.script),
            self.options.for_script,
            {proposal.file: proposal.after},
            module=module is not None,
            engine=self.options.engine,
            timeout_s=limit,
        )
        lines, proposal.helped = compared(proposal, trial_of(outcome), after)
        proposal.told = tuple(lines)
        self.voice.say(*(f"  {line}" for line in lines))

    def _write(self, found: Sequence[Proposal]) -> int:
        if not self.options.write:
            helped = [each for each in found if each.helped]
            how = _how(found)
            if self.options.attempt:
                how = "--try --write writes what helped." if helped else "none helped."
            self.voice.say("", f"gradviz: nothing was written; {how}")
            return int(not (self.options.attempt and helped))
        wanted = [each for each in found if self._is_wanted(each)]
        written, late = written_all(wanted, since=self.began_at)
        for file, count in written.items():
            changes = "1 change" if count == 1 else f"{count} changes"
            self.voice.say(f"gradviz: wrote {changes} to {_shown_path(file)}")
        if late:
            self.voice.say(
                f"gradviz: {len(late)} more would change the same lines; run it again."
            )
        left = len(found) - sum(written.values())
        if left and not late:
            self.voice.say(f"gradviz: {left} not written; {_why_not(self.options)}")
        return int(bool(left))

    def _is_wanted(self, proposal: Proposal) -> bool:
        if self.options.attempt:
            return bool(proposal.helped)
        return proposal.finding.safe or self.options.unsafe


def _write_data(path: Path, diagnosis: Diagnosis, found: Sequence[Proposal]) -> None:
    """Write the changes as data, and what is found that no certain change helps."""
    from gradviz.diagnosis.edits.draft import unified
    from gradviz.export import write_bytes
    from gradviz.text.findings import place_of

    changed = {id(each.finding) for each in found}
    data = {
        "schema": 1,
        "verdict": diagnosis.verdict,
        "changes": [
            {
                **_named(each.finding, each.place),
                "file": each.file,
                "safe": each.finding.safe,
                "diff": unified(each.before, each.after, each.file),
                "helped": each.helped,
                "tried": list(each.told),
            }
            for each in found
        ],
        "without_change": [
            _named(each, place_of(diagnosis.sites[each.culprit], diagnosis.sources))
            for each in diagnosis.findings
            if id(each) not in changed and each.culprit is not None
        ],
    }
    write_bytes(json.dumps(data, indent=1).encode("ascii") + b"\n", path)


def _named(finding: ir.Finding, place: str) -> dict[str, str]:
    return {
        "code": finding.code,
        "slug": finding.slug,
        "severity": finding.severity,
        "line": place,
        "fix": finding.fix,
    }


def proposals(diagnosis: Diagnosis) -> list[Proposal]:
    """Return the changes that findings propose, most likely cause first."""
    from gradviz.diagnosis.edits.draft import applied
    from gradviz.text.findings import place_of

    texts = {each.file: each.text for each in diagnosis.sources}
    found: list[Proposal] = []
    for finding in diagnosis.findings:
        rows = tuple(diagnosis.replacements[row] for row in finding.edit)
        text = texts.get(rows[0].file) if rows else None
        if text is None or finding.culprit is None:
            continue
        place = place_of(diagnosis.sites[finding.culprit], diagnosis.sources)
        after = applied(text, rows)
        found.append(Proposal(finding, place, rows[0].file, rows, text, after))
    return found


def shown(proposal: Proposal, *, color: bool) -> str:
    """Return a proposal as text: the finding, what to do, the difference."""
    from gradviz.diagnosis.edits.draft import unified
    from gradviz.text.words import clean

    paint = _painted if color else _plain
    finding = proposal.finding
    mark = "safe" if finding.safe else "unsafe"
    head = f"{proposal.name}  {proposal.place}  ({mark})"
    lines = [paint(head, _BOLD), *_wrapped(finding.fix)]
    name = _shown_path(proposal.file)
    for line in unified(proposal.before, proposal.after, name).split("\n"):
        first = line[:1]
        style = _GREEN if first == "+" else _RED if first == "-" else ""
        style = _CYAN if line.startswith("@@") else style
        style = _BOLD if line.startswith(("+++", "---")) else style
        text = clean(line[1:], 2_000) if first in ("+", "-", " ") else line
        lines.append(paint(f"{first if text is not line else ''}{text}", style))
    return "\n".join(lines)


def _painted(text: str, style: str) -> str:
    return f"{style}{text}{_PLAIN}" if style else text


def _plain(text: str, _style: str) -> str:
    return text


def _shown_path(file: str) -> str:
    """Return a path as it is read from here, where it lies below."""
    with suppress(ValueError):  # another drive
        relative = os.path.relpath(file)
        if not relative.startswith(".."):
            return relative
    return file


def _without_edit(finding: ir.Finding, diagnosis: Diagnosis) -> str:
    from gradviz.text.findings import place_of

    place = ""
    if finding.culprit is not None:
        place = f"  {place_of(diagnosis.sites[finding.culprit], diagnosis.sources)}"
    head = f"{finding.code} {finding.slug}{place}"
    return "\n".join([head, *_wrapped(finding.fix)])


def _wrapped(text: str) -> list[str]:
    from gradviz.text.words import clean

    return wrap(
        clean(text, 1_000),
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def compared(proposal: Proposal, before: Trial, after: Trial) -> tuple[list[str], bool]:
    """Return what changed between two runs, and whether it helped."""
    if after.failure is not None:
        return [f"tried: not done, {after.failure}."], False
    mine = proposal.finding.code
    text = _blamed(proposal)
    gone = not any(e.code == mine and e.text == text for e in after.findings)
    was = {each.code for each in before.findings}
    new = sorted({e.code for e in after.findings if e.severity != "info"} - was)
    if after.error is not None and after.error != before.error:
        lines = [f"tried: it raises {_short(after.error)}"]
        helped = before.error is not None and gone and not new
        return lines, helped
    lines = [f"tried: {mine} is {'gone' if gone else 'still there'}."]
    if before.error is not None and after.error is None:
        lines.append(f"It ends without the {before.error.split(':')[0]}.")
    reach = f"{after.reached} of {after.parameters} parameters"
    if after.reached != before.reached:
        reach += f" (before: {before.reached})"
    lines.append(f"The gradient reaches {reach}.")
    if (loss := _losses(before, after)) is not None:
        lines.append(loss)
    lines.append(f"New: {', '.join(new)}." if new else "Nothing new is found.")
    return lines, gone and not new


def _blamed(proposal: Proposal) -> str:
    """Return the text of the line to blame."""
    number = int(proposal.place.rpartition(":")[2])
    lines = proposal.before.split("\n")
    return lines[number - 1].strip() if number <= len(lines) else ""


def _losses(before: Trial, after: Trial) -> str | None:
    if after.first_loss is None or after.last_loss is None:
        return None
    now = f"from {after.first_loss:.4g} to {after.last_loss:.4g}"
    how = "falls" if after.last_loss < after.first_loss else "goes"
    if before.first_loss is None or before.last_loss is None:
        return f"The loss {how} {now}."
    old = f"from {before.first_loss:.4g} to {before.last_loss:.4g}"
    return f"The loss {how} {now} (before: {old})."


def _short(error: str) -> str:
    line = error.split("\n")[0]
    return line if len(line) <= 160 else f"{line[:160]}…"


def written_all(
    wanted: Sequence[Proposal], *, since: float
) -> tuple[dict[str, int], list[Proposal]]:
    """Write changes, file by file; return how many, and those that meet another.

    ``since`` is when they ran, in seconds since the epoch. Raises GradvizError, before
    anything is written, if a file is not as it ran.
    """
    from gradviz.diagnosis.edits.files import patched
    from gradviz.export import write_bytes

    by_file: dict[str, list[Proposal]] = {}
    for each in wanted:
        by_file.setdefault(each.file, []).append(each)
    late: list[Proposal] = []
    made: dict[str, tuple[bytes, int]] = {}
    for file, rows in by_file.items():
        data = _unchanged(file, rows[0].before, since)
        taken: list[ir.Replacement] = []
        count = 0
        for each in rows:
            if any(_meet(one, two) for one in each.replacements for two in taken):
                late.append(each)
                continue
            taken += each.replacements
            count += 1
        taken.sort(key=lambda row: (row.line, row.column, row.end_line, row.end_column))
        made[file] = patched(data, taken), count
    for file, (data, _) in made.items():
        write_bytes(data, file)
    return {file: count for file, (_, count) in made.items()}, late


def _meet(one: ir.Replacement, two: ir.Replacement) -> bool:
    """Tell whether two changes touch the same lines: then one waits for a new run."""
    return one.line <= two.end_line and two.line <= one.end_line


def _unchanged(file: str, text: str, since: float) -> bytes:
    """Return the bytes of a file; raises GradvizError if it is not what ran."""
    from gradviz.diagnosis.edits.files import text_of

    name = _shown_path(file)
    try:
        data, dated = Path(file).read_bytes(), os.stat(file).st_mtime
    except OSError as error:
        raise GradvizError(f"{name} cannot be read: {error.strerror}.") from None
    if text_of(data) != text or dated > since:
        raise GradvizError(f"{name} has changed since it ran; run this again.")
    if not os.access(os.path.realpath(file), os.W_OK):
        raise GradvizError(f"{name} is not yours to change: it is read-only.")
    return data


def _how(found: Sequence[Proposal]) -> str:
    safe = sum(each.finding.safe for each in found)
    if safe == len(found):
        return "--write does it."
    if safe:
        return f"--write does {safe} of {len(found)}, with --unsafe all."
    return "--write --unsafe does it, --try tries it first."


def _why_not(options: argparse.Namespace) -> str:
    if options.attempt:
        return "they did not help."
    return "--unsafe writes them, --try tries them first."


def _fix(options: argparse.Namespace) -> Ending | int:
    from gradviz.export import check_target
    from gradviz.running.main_module import module_named, script_at
    from gradviz.running.script import Wanted, run_program
    from gradviz.running.voice import Voice

    module, script = options.module, options.script
    if module is None and script is None:
        raise GradvizError("name a script, as in `gradviz fix train.py`.")
    if str(script) == "-":
        raise GradvizError("a script from standard input has no file to change.")
    if options.unsafe and not options.write:
        raise GradvizError("--unsafe says what --write writes: give both.")
    program = script_at(script) if module is None else module_named(module)
    if options.json is not None:
        options.json = check_target(options.json).absolute()
    voice = Voice()
    voice.say(f"gradviz: running {program.name}; what it prints comes first.")
    job = _Job(program, options, voice)
    ending = run_program(
        program,
        options.for_script,
        engine=options.engine,
        wanted=Wanted(program.name, 1, graph=False),
        voice=voice,
        deliver=job.deliver,
        whole_process=False,
    )
    return ending if ending.signal is not None else job.status
