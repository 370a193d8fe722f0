"""Findings for people at a terminal."""

from __future__ import annotations

import os
from typing import TextIO

from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.render.findings import findings_text


def wants_color(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal whose user did not switch colours off."""
    return stream.isatty() and "NO_COLOR" not in os.environ


def report(
    diagnosis: Diagnosis, *, color: bool = False, width: int = 88, limit: int = 5
) -> str:
    """Return the findings as text, most likely cause first; "" where there are none."""
    return findings_text(diagnosis, color=color, width=width, limit=limit)
