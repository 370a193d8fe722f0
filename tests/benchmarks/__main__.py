"""Run the benchmarks that ``make bench`` reports, one after the other."""

from __future__ import annotations

import subprocess
import sys

COMMANDS = (
    ("-m", "tests.benchmarks.bench_anomaly"),
    ("-m", "tests.benchmarks.bench_graph"),
    ("-m", "tests.benchmarks.bench_depth"),
    ("-m", "tests.benchmarks.bench_diagnosis"),
    ("-m", "tests.benchmarks.bench_loader"),
    ("-m", "tests.benchmarks.bench_torch_log"),
    ("-m", "tests.benchmarks.bench_detail", "--processes", "3"),
    ("-m", "tests.benchmarks.bench_watch"),
    ("-m", "tests.benchmarks.bench_merge"),
    ("-m", "tests.benchmarks.bench_torch_capture"),
    ("-m", "tests.benchmarks.bench_save"),
    ("-m", "tests.benchmarks.bench_view"),
    ("-m", "tests.benchmarks.bench_live"),
    ("-m", "tests.benchmarks.bench_live_page"),
    ("-m", "tests.benchmarks.bench_engine", "--threads", "1"),
    ("-m", "tests.benchmarks.bench_engine", "--threads", "2"),
    ("-m", "tests.benchmarks.bench_models", "--threads", "1"),
    ("-m", "tests.benchmarks.bench_models", "--threads", "2"),
)


def main() -> int:
    """Run every benchmark; return 1 if one of them failed."""
    failed = 0
    for command in COMMANDS:
        failed |= subprocess.run([sys.executable, *command], check=False).returncode
        print()
    return int(failed != 0)


if __name__ == "__main__":
    raise SystemExit(main())
