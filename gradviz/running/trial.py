"""Runs a program with some of its files changed, without touching any file of theirs.

The changed texts live in the memory of another process: names, arguments, ``__file__``
and ``sys.path`` are the program's own. It stands in a folder of its own with copies of
the small files of the folder that it is run in, and what it would write outside of
that is refused.
"""

from __future__ import annotations

import json
import linecache
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz.running.main_module import Program, module_named, script_at
from gradviz.running.voice import Voice

if TYPE_CHECKING:
    from gradviz.running.script import Outcome

_SMALL = 1 << 20  # bytes of a file that is copied; larger ones are linked to
_MOST = 2_000  # files and folders that are copied or linked one by one
_SKIPPED = frozenset(("__pycache__", ".git", ".venv", "venv", "node_modules"))


class RefusedWriteError(PermissionError):
    """The program would write to a file of the user's; a trial does not."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding as a trial tells it."""

    code: str
    severity: str
    text: str  # the line to blame, without its indentation


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of running a changed program."""

    findings: tuple[Found, ...] = ()
    error: str | None = None  # "ValueError: …" if it raised
    reached: int = 0
    parameters: int = 0
    first_loss: float | None = None
    last_loss: float | None = None
    failure: str | None = None  # why there is nothing to tell


def trial_of(outcome: Outcome) -> Trial:
    """Return what a run came to, to be compared with others."""
    diagnosis = outcome.diagnosis
    if diagnosis is None:
        return Trial(error=outcome.error, failure="nothing was found out about it")
    numbers = diagnosis.measured
    return Trial(
        tuple(
            Found(
                each.code,
                each.severity,
                ""
                if each.culprit is None
                else diagnosis.sites[each.culprit].text.strip(),
            )
            for each in diagnosis.findings
        ),
        outcome.error,
        0 if numbers is None else numbers.reached,
        0 if numbers is None else numbers.parameters,
        None if numbers is None else numbers.first_loss,
        None if numbers is None else numbers.last_loss,
    )


def tried(
    script: str,
    arguments: Sequence[str],
    changes: Mapping[str, str],
    *,
    module: bool = False,
    engine: str | None = None,
    timeout_s: float,
) -> Trial:
    """Run a script, or module, with other texts for some files; return what came of it.

    ``changes`` maps absolute paths to texts.
    """
    with tempfile.TemporaryDirectory(prefix="gradviz-trial-") as name:
        folder = Path(name)
        place = folder / "place"
        _mirror(Path.cwd(), place)
        order = {
            "script": script if module or script == "-" else os.path.abspath(script),
            "first": script,
            "module": module,
            "arguments": list(arguments),
            "changes": dict(changes),
            "engine": engine,
            "here": os.getcwd(),
            "path": [each or os.getcwd() for each in sys.path],
        }
        (folder / "order.json").write_text(json.dumps(order), "utf-8")
        command = [sys.executable, "-m", __name__, str(folder)]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        extra = [str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, extra))
        try:
            ran = subprocess.run(
                command, cwd=place, env=environment, timeout=timeout_s, check=False,
                stdin=subprocess.DEVNULL, capture_output=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Trial(failure=f"it had not ended after {timeout_s:.0f} seconds")
        except OSError as error:  # a browser has no processes
            return Trial(failure=f"no process could be started: {error.strerror}")
        return _told(folder, ran)


def _told(folder: Path, ran: subprocess.CompletedProcess[bytes]) -> Trial:
    with suppress(OSError, ValueError):
        data: dict[str, Any] = json.loads((folder / "told.json").read_bytes())
        findings = tuple(Found(**each) for each in data.pop("findings"))
        return Trial(findings, **data)
    last = ran.stderr.decode(errors="replace").strip().split("\n")[-1]
    return Trial(failure=f"it ended with status {ran.returncode}: {last[:200]}")


def _mirror(source: Path, target: Path) -> None:
    """Make a folder that looks like another: small files copied, the rest as links."""
    target.mkdir()
    waiting, left = [(source, target)], _MOST
    for old, new in waiting:
        try:
            entries = sorted(os.scandir(old), key=lambda each: each.name)
        except OSError:
            continue
        for each in entries:
            left -= 1
            mine = new / each.name
            with suppress(OSError):
                if left < 0 or each.name in _SKIPPED or each.is_symlink():
                    mine.symlink_to(each.path)
                elif each.is_dir():
                    mine.mkdir()
                    waiting.append((Path(each.path), mine))
                elif each.is_file() and each.stat().st_size <= _SMALL:
                    shutil.copy(each.path, mine)
                else:
                    mine.symlink_to(each.path)


# ---- in the other process ----------------------------------------------------------


class _Changed(SourceFileLoader):
    """Loads a module from a text in memory; no bytecode is read or written."""

    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self._text = text

    def get_data(self, path: str) -> bytes:
        return self._text if path == self.path else super().get_data(path)

    def path_stats(self, path: str) -> Any:
        raise OSError(f"{path} is changed in memory")


class _Finder:
    """Finds modules whose file has another text."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts

    def find_spec(self, name: str, path: Any, _target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.origin is None:
            return None
        text = self._texts.get(os.path.abspath(spec.origin))
        if text is None:
            return None
        spec.loader = _Changed(name, spec.origin, text)
        return spec


def _refuse_writes(folder: Path, *theirs: str) -> None:
    """Refuse to change what lies outside of the trial's own folders.

    What is new among temporary files may be made, unless it is in a folder of theirs.
    """
    roots = [os.path.realpath(each) for each in (folder, "/dev", "/proc")]
    temporary = os.path.realpath(tempfile.gettempdir())
    here = os.path.realpath(os.getcwd())

    def is_outside(path: object) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        real = os.path.realpath(os.path.join(here, os.fsdecode(path)))
        if any(real == each or real.startswith(each + os.sep) for each in roots):
            return False
        users = any(real.startswith(each + os.sep) for each in owned)
        new = not os.path.lexists(real) and not users
        fresh = new and real.startswith(temporary + os.sep)
        made = real in scratch or any(real.startswith(f"{s}{os.sep}") for s in scratch)
        if fresh or made:
            scratch.add(real)
            return False
        return True

    owned = [os.path.realpath(each) for each in theirs if each]
    scratch: set[str] = set()

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = (*given, None, None, None)[:3]
            writes = isinstance(mode, str) and any(each in mode for each in "wax+")
            bits = flags if isinstance(flags, int) else 0
            if mode is None:
                writes = bool(bits & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            if writes and is_outside(path):
                raise RefusedWriteError(f"a trial does not write {path}")
        elif event in _CHANGING:
            for path in given[:2]:
                if is_outside(path):
                    raise RefusedWriteError(f"a trial does not change {path}")

    sys.addaudithook(hook)


_CHANGING = frozenset(
    ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.link",
     "os.symlink", "os.chmod", "shutil.rmtree", "shutil.move")
)  # fmt: skip


def _keep_from_writing_past_python() -> None:
    """Let PyTorch save through Python's files, which are watched."""
    import torch.serialization as saving

    by_name: Any = saving._open_zipfile_writer_file

    class ThroughPython(by_name):
        def __init__(self, name: Any) -> None:
            with open(name, "wb"):
                super().__init__(name)

    saving._open_zipfile_writer_file = ThroughPython  # type: ignore[assignment]


def main(folder: Path) -> int:
    """Carry out the order that lies in a folder."""
    from gradviz.running.script import Wanted, engine_of, run_program

    order = json.loads((folder / "order.json").read_bytes())
    place, here = os.getcwd(), order["here"]
    os.chdir(here)  # names are looked up where the program was run
    sys.path[1:] = order["path"][1:]
    if order["module"]:
        program = module_named(order["script"])
    else:
        program = replace(script_at(Path(order["script"])), first=order["first"])
    os.chdir(place)
    texts = {file: text.encode() for file, text in order["changes"].items()}
    program = _changed(program, texts)
    sys.meta_path.insert(0, _Finder(texts))  # type: ignore[arg-type]
    if engine_of(program.source) == "torch" and order["engine"] != "gradtape":
        with suppress(Exception):
            _keep_from_writing_past_python()
    _refuse_writes(folder, here, program.folder)

    def tell(outcome: Outcome) -> None:
        data = json.dumps(asdict(trial_of(outcome)))
        (folder / "told.json").write_text(data, "utf-8")

    ending = run_program(
        program,
        order["arguments"],
        engine=order["engine"],
        wanted=Wanted(program.name, 1, graph=False),
        voice=Voice(),
        deliver=tell,
    )
    return ending.status


def _changed(program: Program, texts: Mapping[str, bytes]) -> Program:
    """Return a program with another text, and let all that quotes files quote it."""
    for file, text in texts.items():
        lines = text.decode().splitlines(keepends=True)
        linecache.cache[file] = len(text), None, lines, file
    text = texts.get(program.file)
    return program if text is None else replace(program, source=text)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
