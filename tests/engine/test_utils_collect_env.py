"""What a bug report says about the machine: PyTorch's lines, this package's facts."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape.utils import collect_env


def labels(text: str) -> list[str]:
    """Return what stands before the colons, above what the machine itself lists."""
    head = text.partition("\nCPU:")[0]
    return [line.partition(":")[0] for line in head.splitlines()]


def test_the_fields_and_lines_are_those_of_pytorch() -> None:
    theirs: Any = pytest.importorskip("torch.utils.collect_env")
    assert collect_env.SystemEnv._fields == theirs.SystemEnv._fields
    facts = dict.fromkeys(theirs.SystemEnv._fields, "x")
    other = theirs.pretty_str(theirs.SystemEnv(**facts))
    ours = collect_env.pretty_str(collect_env.SystemEnv(**facts))
    assert labels(ours) == labels(other)


def test_what_is_not_known_is_said() -> None:
    facts: dict[str, Any] = dict.fromkeys(collect_env.SystemEnv._fields, "x")
    facts |= {"cuda_runtime_version": None, "pip_packages": ""}
    text = collect_env.pretty_str(collect_env.SystemEnv(**facts))
    assert "CUDA runtime version: Could not collect" in text
    assert "[x] No relevant packages" in text


def test_the_facts_are_this_machines() -> None:
    found = collect_env.get_env_info()
    assert found.torch_version == gradtape.__version__
    assert found.python_version.startswith(platform.python_version())
    assert f"numpy=={np.__version__}" in found.pip_packages.splitlines()
    assert found.is_cuda_available == str(gradtape.cuda.is_available())


def test_the_model_of_the_processor_is_read(tmp_path: Path) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nmodel name\t: Abacus 9\nflags\t: fpu\n")
    assert (
        collect_env._cpu(listing) == f"CPU(s): {os.cpu_count()}\nModel name: Abacus 9"
    )


def test_it_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "gradtape.utils.collect_env"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second, *_ = run.stdout.splitlines()
    assert first == "Collecting environment information..."
    assert second == f"PyTorch version: {gradtape.__version__}"
