"""What a bug report should say: ``python -m gradtape.utils.collect_env``.

The names are PyTorch's. What this package is not made with, compilers and libraries of
devices it does not know, is "N/A".
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from .. import version
from .._backend import cuda as _cuda

_PACKAGES = ("cupy", "gradviz", "ml_dtypes", "numpy", "onnx", "safetensors", "scipy")
_LAYOUT = """
PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
CUDA_MODULE_LOADING set to: {cuda_module_loading}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
HIP runtime version: {hip_runtime_version}
MIOpen runtime version: {miopen_runtime_version}
Is XNNPACK available: {is_xnnpack_available}
Caching allocator config: {caching_allocator_config}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}
""".strip()


class SystemEnv(NamedTuple):
    """The facts, under PyTorch's names; None for what could not be found out."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    gcc_version: str
    clang_version: str
    cmake_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str | None
    cuda_module_loading: str
    nvidia_driver_version: str | None
    nvidia_gpu_models: str | None
    cudnn_version: str
    is_xpu_available: str
    pip_version: str
    pip_packages: str
    conda_packages: str
    hip_compiled_version: str
    hip_runtime_version: str
    miopen_runtime_version: str
    caching_allocator_config: str
    is_xnnpack_available: str
    cpu_info: str | None


def get_env_info() -> SystemEnv:
    """Return what is known about the machine.

    >>> from gradtape.utils.collect_env import get_env_info
    >>> get_env_info().is_debug_build
    'False'
    """
    bits = sys.maxsize.bit_length() + 1
    build = sys.version.replace("\n", " ")
    facts = dict.fromkeys(SystemEnv._fields, "N/A")
    found: dict[str, str | None] = {
        **facts,
        "torch_version": version.__version__,
        "is_debug_build": "False",
        "os": _os(),
        "libc_version": "-".join(filter(None, platform.libc_ver())) or "N/A",
        "python_version": f"{build} ({bits}-bit runtime)",
        "python_platform": platform.platform(),
        "is_cuda_available": str(_cuda.is_available()),
        "cuda_runtime_version": None,
        "nvidia_driver_version": None,
        "nvidia_gpu_models": None,
        "is_xpu_available": "False",
        "is_xnnpack_available": "False",
        "pip_version": "pip3",
        "pip_packages": _packages(_PACKAGES),
        "conda_packages": "",
        "cpu_info": _cpu(Path("/proc/cpuinfo")),
    }
    if _cuda.is_available():
        runtime = _cuda.cupy().cuda.runtime
        found["cuda_runtime_version"] = str(runtime.runtimeGetVersion())
        found["nvidia_driver_version"] = str(runtime.driverGetVersion())
        found["nvidia_gpu_models"] = "\n".join(
            f"GPU {i}: {runtime.getDeviceProperties(i)['name'].decode()}"
            for i in range(runtime.getDeviceCount())
        )
    return SystemEnv(**found)  # type: ignore[arg-type] - the names are the fields


def _os() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):  # not Linux, or a very small one
        name = f"{platform.system()} {platform.release()}"
    return f"{name} ({platform.machine()})"


def _packages(names: Iterable[str]) -> str:
    """Return the installed packages whose names begin with one of these."""
    found = {
        f"{each.name}=={each.version}"
        for each in metadata.distributions()
        if each.name and each.name.lower().replace("-", "_").startswith(tuple(names))
    }
    return "\n".join(sorted(found))


def _cpu(listing: Path) -> str | None:
    """Return how many processors there are, and of which model where Linux says it."""
    lines = [f"CPU(s): {os.cpu_count()}"]
    if listing.is_file():
        model = re.search(r"^model name\s*: (.*)$", listing.read_text(), re.MULTILINE)
        lines += [f"Model name: {model[1]}"] if model else []
    elif platform.processor():
        lines.append(f"Model name: {platform.processor()}")
    return "\n".join(lines)


def pretty_str(envinfo: SystemEnv) -> str:
    """Return the facts as a text for a bug report."""
    told = {
        name: "Could not collect" if value is None else value
        for name, value in envinfo._asdict().items()
    }
    packages = told["pip_packages"] or "No relevant packages"
    marked = "\n".join(f"[{told['pip_version']}] {p}" for p in packages.splitlines())
    told["pip_packages"] = marked
    return _LAYOUT.format(**told).rstrip()


def get_pretty_env_info() -> str:
    """Return the text for this machine."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print the text, as ``python -m gradtape.utils.collect_env`` does."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
