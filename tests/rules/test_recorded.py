"""Correct programs whose values are recorded too, as ``gradviz run`` does it.

The log of such a run holds more than the rules' other tests give them.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import gradviz
from gradviz._capture.open_log import Engine
from gradviz.running.engine_alias import alias
from tests.rules.harness import executed
from tests.rules.tables import FILES
from tests.rules.test_untouched import cases_for_torch

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("engine", ["gradtape", "torch"])
@pytest.mark.parametrize("file", [each for each in FILES if ".fine_" in each])
def test_what_a_recording_sees_besides_blames_nobody(file: str, engine: Engine):
    wrong = list[str]()
    for case in cases_for_torch(file):
        if engine not in case.engines:
            continue
        session = gradviz.record(engine=engine)
        instead = alias("torch", "gradtape") if engine == "gradtape" else nullcontext()
        with instead, executed(case, session):
            found = session.diagnose()
        loud = [each.slug for each in found.findings if each.severity != "info"]
        notes = (*found.notes, *session.snapshot().notes)
        lost = [each for each in notes if "was skipped" in each or "stopped" in each]
        if loud or lost:
            wrong.append(f"{case.name}: {loud} {lost}")
    assert wrong == []
