"""Tools that run a script: what is wrong with it, and what to change."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal

from gradviz.errors import GradvizError
from gradviz.mcp.bounds import end, fitted, text
from gradviz.mcp.child import Ended, gradviz
from gradviz.mcp.told import told_finding

Engine = Literal["torch", "gradtape"]

_TRIALS = 10  # a fix may run the script once for each of so many changes
_GONE = "the script had not ended after {:g} seconds, and was ended"


@dataclass(slots=True)
class Scripts:
    """Runs scripts, and keeps their recordings in a folder."""

    kept: Path
    _numbers: count[int] = field(default_factory=lambda: count(1))

    async def run(
        self, target: Target, arguments: list[str], limit_s: float
    ) -> dict[str, Any]:
        """Record a script; return what was found and where the recording is."""
        number = next(self._numbers)
        recording = self.kept / f"{target.stem}-{number}.gradviz.json"
        found = recording.with_suffix(".found.json")
        options = ["--no-open", "--json", str(recording), "--findings", str(found)]
        command = ["run", *options, *target.words(), "--", *arguments]
        ended = await gradviz(command, target.folder, limit_s)
        document = _document(found)
        others: dict[str, Any] = {
            "verdict": "nothing could be found out; see `stderr`",
            **_told_of(ended, limit_s),
            "recording": str(recording) if recording.exists() else None,
        }
        if document is None:
            return {**others, "findings": []}
        others["verdict"] = document["verdict"]
        if document["error"] is not None:
            others["raised"] = text(document["error"])
        if document["notes"]:
            others["notes"] = [text(note, 300) for note in document["notes"][:5]]
        rows = [told_finding(each) for each in document["findings"]]
        return fitted(rows, name="findings", **others)

    async def fix(
        self, target: Target, arguments: list[str], limit_s: float, *, attempt: bool
    ) -> dict[str, Any]:
        """Return the changes to a script that its findings propose, as diffs."""
        out = self.kept / f"{target.stem}-{next(self._numbers)}.changes.json"
        options = ["--json", str(out)]
        whole_s = limit_s
        if attempt:
            options += ["--try", "--timeout", str(max(1, int(limit_s)))]
            whole_s *= _TRIALS
        command = ["fix", *options, *target.words(), "--", *arguments]
        ended = await gradviz(command, target.folder, whole_s)
        document = _document(out)
        told = _told_of(ended, whole_s)
        if document is None:
            told["verdict"] = "nothing could be found out; see `stderr`"
            return {**told, "changes": []}
        if not ended.timed_out:
            del told["status"]  # of `gradviz fix`, which tells what is below
        changes = [_told_change(each, tried=attempt) for each in document["changes"]]
        without = [
            {key: text(each[key], 500) for key in ("code", "line", "fix")}
            for each in document["without_change"][:10]
        ]
        others: dict[str, Any] = {
            "verdict": document["verdict"],
            **told,
            "without_change": without,
        }
        return fitted(changes, name="changes", **others)


@dataclass(frozen=True, slots=True)
class Target:
    """What to run: a script or a module, where, on which engine."""

    name: str
    folder: Path
    module: bool = False
    engine: Engine | None = None

    @property
    def stem(self) -> str:
        """A short name for files about it."""
        return self.name.rpartition(".")[2] if self.module else Path(self.name).stem

    def words(self) -> list[str]:
        """Return the arguments that name it on the command line."""
        engine = [] if self.engine is None else ["--engine", self.engine]
        return [*engine, *(["-m"] if self.module else []), self.name]


def target_at(
    script: str, folder: str | None, *, module: bool, engine: Engine | None
) -> Target:
    """Return what to run; raise GradvizError if it is not there."""
    place = Path.cwd() if folder is None else Path(folder).expanduser()
    if not place.is_dir():
        raise GradvizError(f"there is no folder {folder}.")
    place = place.absolute()
    if not module and not (place / script).is_file():
        raise GradvizError(f"there is no script {script} in {place}.")
    return Target(script, place, module, engine)


def _document(path: Path) -> Any:
    """Return what the child has written; None where it could not."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _told_of(ended: Ended, limit_s: float) -> dict[str, Any]:
    told: dict[str, Any] = {"status": ended.status}
    if ended.timed_out:
        told["timed_out"] = _GONE.format(limit_s)
    if ended.out.strip():
        told["stdout"] = end(ended.out)
    if ended.err.strip() and (ended.status or ended.timed_out):
        told["stderr"] = end(ended.err)
    return told


def _told_change(change: dict[str, Any], *, tried: bool) -> dict[str, Any]:
    told = {key: change[key] for key in ("code", "slug", "line", "file", "safe")}
    told |= {"fix": text(change["fix"], 500), "diff": text(change["diff"], 4_000)}
    if tried:
        told |= {"helped": change["helped"], "tried": change["tried"]}
    return told
