"""What rules look at grows as the program does, not with its square."""

from __future__ import annotations

from typing import Any

import pytest

from gradviz.dependence.flow import Flow
from gradviz.diagnosis.diagnose import diagnose
from tests.rules.harness import ENGINES, case, run

VIEWS = """
import torch

weight, buffer = torch.randn(4, requires_grad=True), torch.zeros({rows}, 4)
rows = [buffer[row] for row in range({rows})]
with torch.no_grad():
    for number, row in enumerate(rows):
        row.copy_(weight * float(number))
torch.stack([row.sum() for row in rows]).sum().requires_grad_().backward()
"""


def met(rows: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many makers of tensors a diagnosis goes through."""
    counts: list[int] = []
    made = Flow._made

    def counting(self: Flow, *args: Any) -> Any:
        found = made(self, *args)
        counts.append(len(found[1]))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Flow, "_made", counting)
        diagnose(run(case("views", VIEWS.format(rows=rows)), engine))
    return sum(counts)


@pytest.mark.parametrize("engine", ENGINES)
def test_views_of_one_buffer_do_not_multiply(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = met(20, engine, monkeypatch), met(80, engine, monkeypatch)
    assert few > 20
    assert many < 5 * few
