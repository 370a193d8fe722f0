"""A baseline: the findings that a project knows and has decided to live with."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.errors import GradvizError
from gradviz.reporting.fingerprint import fingerprint
from gradviz.reporting.places import name_of
from gradviz.reporting.report import Report

SCHEMA = 1

_MISSING = "there is no baseline {}; --write-baseline writes it."
_NO_BASELINE = "{} is no baseline of gradviz; --write-baseline writes one."


@dataclass(frozen=True, slots=True)
class Baseline:
    """How many findings are known, by fingerprint: equal lines have the same one."""

    known: Counter[str]

    def new_in(self, diagnosis: Diagnosis, top: Path) -> Diagnosis:
        """Return the diagnosis without what is known."""
        left = self.known.copy()
        kept: list[int] = []
        for row, finding in enumerate(diagnosis.findings):
            mark = fingerprint(finding, diagnosis, top)
            if left[mark] > 0:
                left[mark] -= 1
            else:
                kept.append(row)
        return diagnosis.only(kept)


def read_baseline(path: Path) -> Baseline:
    """Return the baseline in a file; raise GradvizError where there is none."""
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            raise GradvizError(f"{path} is a baseline of another version of gradviz.")
        marks = [str(each["fingerprint"]) for each in data["findings"]]
    except FileNotFoundError:
        raise GradvizError(_MISSING.format(path)) from None
    except OSError as error:
        raise GradvizError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise GradvizError(_NO_BASELINE.format(path)) from None
    return Baseline(Counter(marks))


def dumps(report: Report) -> bytes:
    """Return the findings of a run as a baseline, in an order that runs do not change.

    Beside each fingerprint stands what people read: only the fingerprint is compared.
    """
    found = report.diagnosis.findings
    rows = [_row(each, report) for each in found]
    rows.sort(key=lambda row: (row["file"], row["code"], row["fingerprint"]))
    text = json.dumps(
        {"schema": SCHEMA, "findings": rows}, indent=1, ensure_ascii=False
    )
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _row(finding: ir.Finding, report: Report) -> dict[str, Any]:
    diagnosis, top = report.diagnosis, report.top
    site = None if finding.culprit is None else diagnosis.sites[finding.culprit]
    return {
        "fingerprint": fingerprint(finding, diagnosis, top),
        "code": finding.code,
        "slug": finding.slug,
        "file": "" if site is None else name_of(site.file, top),
        "function": "" if site is None else site.function,
        "text": "" if site is None else " ".join(site.text.split()),
    }
