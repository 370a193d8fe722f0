"""Judge findings on programs that were written without knowledge of the rules.

    python -m tests.unseen SET [--engine torch|gradtape]

Each program runs under ``gradviz run`` in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MARK = "# CULPRIT"
SETS = "abcdefghijklmnopqrstu"
LIMIT_S = 300.0


def found_in(program: Path, engine: str) -> list[dict[str, Any]] | None:
    """Return the errors and warnings of a program; None where there is no answer.

    A rule that raised has given none.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "findings.json"
        command = [sys.executable, "-m", "gradviz", "run", "--no-open"]
        options = ["--engine", engine, "--findings", str(out), str(program)]
        try:
            subprocess.run(
                [*command, *options],
                cwd=folder,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
            told = json.loads(out.read_text())
        except (subprocess.TimeoutExpired, OSError, ValueError):
            return None
    if any("was skipped" in note for note in told["notes"]):
        return None
    return [
        each for each in told["findings"] if each["severity"] in ("error", "warning")
    ]


def rank(program: Path, findings: list[dict[str, Any]]) -> int | None:
    """Return the place of the first finding that blames a marked line, from 0."""
    lines = program.read_text().splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if MARK in line}
    for place, finding in enumerate(findings):
        culprit = finding["culprit"]
        if culprit is None or Path(culprit["file"]).name != program.name:
            continue
        last = culprit.get("end_line") or culprit["line"]
        if wanted.intersection(range(culprit["line"], last + 1)):
            return place
    return None


def main() -> int:
    """Print one line for each program and a sum; return 1 if one gave no answer."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("set", choices=[*SETS])
    parser.add_argument("--engine", choices=["torch", "gradtape"], default="torch")
    options = parser.parse_args()
    wrong, places, correct, alarms, silent = 0, list[int](), 0, 0, 0
    for program in sorted((HERE / options.set).glob("*.py")):
        findings = found_in(program, options.engine)
        silent += findings is None
        said = [
            (each["slug"], (each["culprit"] or {}).get("line"))
            for each in findings or ()
        ]
        if program.name.startswith("clean_"):
            correct, alarms = correct + 1, alarms + bool(findings)
            verdict = "alarm" if findings else "quiet"
        else:
            place = rank(program, findings or [])
            wrong += 1
            places += [] if place is None else [place]
            verdict = "missed" if place is None else f"found {place + 1}."
        print(f"{verdict:9} {program.name:28} {said[:3]}", flush=True)
    among = sum(place < 3 for place in places)
    print(
        f"first {places.count(0)} of {wrong}, among three {among}; "
        f"{alarms} alarms of {correct}; no answer {silent}"
    )
    return int(silent > 0)


if __name__ == "__main__":
    raise SystemExit(main())
