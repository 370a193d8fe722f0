"""Write docs/operators.md: which of PyTorch's operators agree, aspect by aspect.

``python -m tests.engine.ops._opinfo_table`` compares every variant with PyTorch.
"""

from __future__ import annotations

from pathlib import Path

from ._opinfo import ASPECTS, applicable, findings, variants

TARGET = Path(__file__).resolve().parents[3] / "docs" / "operators.md"
YES, NO, NONE = "yes", "no", "–"

HEAD = """# Operators

gradtape is gradviz's own engine: PyTorch's tensors and autograd in Python, on NumPy.
You need these pages only if your program imports it.

Every operator of PyTorch that runs in float64 on the CPU, by the name in PyTorch's own
table of samples, and whether gradtape agrees with PyTorch on these samples: in values,
dtypes and shapes forward, in gradients, in the in-place form, with `out=`, and in the
errors for bad input, type and sentence. A dash means that PyTorch has no such form or
sample. Written by `python -m tests.engine.ops._opinfo_table`;
`tests/engine/ops/test_opinfo.py` checks every row.

{summary}

| operator | {aspects} |
|---|{rules}|
"""

REMARKS = """
## What disagrees, and why

- `as_strided_scatter`: PyTorch's gradient of the first argument is that of the second;
  gradtape's is the slope.
- `fft.ihfft2`, `fft.ihfftn`: PyTorch leaves `out=` as it was where a transform has one
  dimension; gradtape writes the result.
- `chalf`: there is no arithmetic in half-precision complex numbers.
- `sparse.sampled_addmm` and other functions of sparse CSR tensors are not there.
"""


def statuses(name: str, most: int | None = None) -> dict[str, str]:
    """Return, for each aspect of a variant, whether it agrees on ``most`` samples."""
    row = variants()[name]
    wrong = {aspect for aspect, _ in findings(row, most)}
    there = applicable(row)
    return {
        aspect: NONE if aspect not in there else NO if aspect in wrong else YES
        for aspect in ASPECTS
    }


def read() -> dict[str, dict[str, str]]:
    """Return the table as it is written, by variant."""
    found: dict[str, dict[str, str]] = {}
    for line in TARGET.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            found[cells[0].strip("`")] = dict(zip(ASPECTS, cells[1:], strict=True))
    return found


def table(rows: dict[str, dict[str, str]]) -> str:
    """Return the page for some rows."""
    counts = [
        f"{sum(row[aspect] == YES for row in rows.values())} of "
        f"{sum(row[aspect] != NONE for row in rows.values())} {aspect}"
        for aspect in ASPECTS
    ]
    head = HEAD.format(
        summary=f"Agreeing: {', '.join(counts)}.",
        aspects=" | ".join(ASPECTS),
        rules="|".join(["---"] * len(ASPECTS)),
    )
    lines = [
        f"| `{name}` | {' | '.join(row[aspect] for aspect in ASPECTS)} |"
        for name, row in sorted(rows.items())
    ]
    return head + "\n".join(lines) + "\n" + REMARKS


if __name__ == "__main__":
    TARGET.write_text(table({n: statuses(n) for n in variants()}), encoding="utf-8")
