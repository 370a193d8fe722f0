"""Freed arrays leave their memory to the next ones, where the C library can."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
if sys.argv[1] == "gradtape":
    import gradtape
import numpy as np

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for turn in range(12):
    before = faults()
    arrays = [np.ones(3 << 18, np.float32) for _ in range(4)]
    del arrays
print(faults() - before)
"""
PAGES = 4 * 3 * (1 << 20) // 4096


def page_faults(engine: str, **settings: str) -> int:
    """Run the program; return how many pages its last turn got from the system."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, engine],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), **settings},
    )
    return int(found.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc learns")
def test_arrays_reuse_the_memory_of_freed_ones() -> None:
    assert page_faults("gradtape") < PAGES / 10


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc learns")
def test_the_users_setting_stays() -> None:
    small = {"MALLOC_MMAP_THRESHOLD_": "65536"}
    assert page_faults("gradtape", **small) >= page_faults("numpy", **small) * 0.5 > 0
