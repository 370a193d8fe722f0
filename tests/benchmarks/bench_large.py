"""Record, capture and draw a chain of a million operations on either engine.

    python -m tests.benchmarks.bench_large [NODES]

Prints CPU seconds and the most memory of the plain program, of the same under
``gradviz run`` with its page, and of ``export_html`` of the finished graph, then how
long each page takes to open in Chromium. Exits with 1 if a bound is missed: 60 s and
2 GB for a million nodes with their page, 2 s to open it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS

CPU_SECONDS, GIGABYTES, OPEN_SECONDS = 60.0, 2.0, 2.0
CHROMIUM = "/usr/bin/chromium"

_PROGRAM = """
import {engine} as torch
x = torch.ones(2, requires_grad=True)
y = x
for _ in range({nodes}):
    y = y * 1.0
loss = y.sum()
{end}
"""

_ENDS = {
    "plain": "loss.backward()",
    "run": "loss.backward()",
    "export_html": "import gradviz; gradviz.export_html(loss, 'export_html.html')",
}


def measure(engine: str, nodes: int, way: str, folder: Path) -> tuple[float, float]:
    """Return CPU seconds and gigabytes of one way through one program."""
    script = folder / f"{way}.py"
    program = _PROGRAM.format(engine=engine, nodes=nodes, end=_ENDS[way])
    script.write_text(program, encoding="utf-8")
    options = ["-m", "gradviz", "run", "--no-open"] if way == "run" else []
    command = [sys.executable, *options, str(script)]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{engine}, {way}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6


def opened(page_file: Path) -> float:
    """Return the seconds until the page has painted its graph."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(page_file.as_uri())
        page.wait_for_function(
            "() => performance.getEntriesByName('gradviz:painted').length > 0"
        )
        painted = page.evaluate(
            "() => performance.getEntriesByName('gradviz:painted')[0].startTime"
        )
        browser.close()
    return painted / 1000


def main(arguments: list[str]) -> int:
    """Measure both engines; return 1 if a bound is missed."""
    nodes, kept = int(arguments[0]) if arguments else 1_000_000, True
    for engine in ("gradtape", "torch"):
        for way in _ENDS:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                seconds, gigabytes = measure(engine, nodes, way, folder)
                line = f"{engine:9} {way:12} {seconds:6.1f} s {gigabytes:5.2f} GB"
                if way != "plain":
                    kept &= seconds <= CPU_SECONDS and gigabytes <= GIGABYTES
                    shown = opened(folder / f"{way}.html")
                    kept &= shown <= OPEN_SECONDS
                    line += f"  opens in {shown:.2f} s"
                print(line, flush=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
