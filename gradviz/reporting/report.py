"""The findings of one run with what a document about them needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gradviz.diagnosis.diagnose import Diagnosis


@dataclass(frozen=True, slots=True)
class Report:
    """What is told of one run."""

    diagnosis: Diagnosis
    script: str  # as it was named
    top: Path  # absolute: paths in a checkout are told from here on
    file: str = ""  # of the script, absolute; "" where it has none
    error: str | None = None  # "RuntimeError: …" if the script raised
    known: int = 0  # findings that are left out, because they were known before
