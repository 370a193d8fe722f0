"""Every op on a device: values as on the host, results and gradients on the device.

On the stand-in for CuPy the values are NumPy's on both sides; what it tells is that no
kernel mixes arrays of the host with those of the device. ``-m gpu`` runs the same on a
real device, and skips without one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape._tensor.tensor import Tensor, wrap

from .. import standin
from .._engines import OURS
from ..standin_arrays import over
from .samples._discover import all_ops, samples_of
from .samples._record import OpSample

CALLS = 4
"""How many calls of each entry; the kernels see all of them on the host."""

HOST_RESULTS = ("from_numpy", "histogramdd", "frombuffer")
"""What returns host tensors whatever it is given."""


@pytest.fixture(params=["stand-in", pytest.param("cupy", marks=pytest.mark.gpu)])
def to_device(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Any], Any]]:
    """Yield what puts an array onto the device: the stand-in, or a real one."""
    if request.param == "cupy":
        if not gt.cuda.is_available():
            pytest.skip("needs CuPy and a CUDA device")
        yield gt._cuda.cupy().asarray
        return
    standin.put_in_place(monkeypatch)
    gt.cuda.init()
    yield lambda array: over(array.copy())
    standin.remove()


def on_device(value: Any, put: Callable[[Any], Any]) -> Any:
    """Return arguments with their tensors on the device."""
    if isinstance(value, Tensor):
        moved = wrap(put(value._data))
        moved.requires_grad = value.requires_grad
        return moved
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(on_device(each, put) for each in value)
    return value


def run(entry: OpSample, args: Any, kwargs: Any) -> list[Any]:
    """Call an op and differentiate it; return its results, then the gradients."""
    gt.manual_seed(0)
    outputs = OURS.tensors(OURS.function(entry.name)(*args, **kwargs))
    needing = [o for o in outputs if o.requires_grad]
    leaves = OURS.inputs(args, kwargs)
    if not needing or not leaves or not entry.derived:
        return outputs
    ones = [gt.ones_like(o) for o in needing]
    found = gt.autograd.grad(needing, leaves, ones, allow_unused=True)
    return outputs + [g for g in found if g is not None]


def values(tensor: Any) -> Any:
    return tensor.detach().resolve_conj().cpu()._data


@pytest.mark.parametrize("entry", all_ops(), ids=lambda e: e.label)
def test_the_op_runs_on_the_device(
    entry: OpSample, to_device: Callable[[Any], Any]
) -> None:
    for sample in list(samples_of(entry, entry.dtypes[0]))[:CALLS]:
        args, kwargs = OURS.arguments(sample, entry.frozen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            moved = tuple(on_device(each, to_device) for each in args)
            named = {key: on_device(each, to_device) for key, each in kwargs.items()}
            expected = run(entry, args, kwargs)
            found = run(entry, moved, named)
        if not OURS.tensors([args, kwargs]):
            continue  # nothing was on the device
        for ours, host in zip(found, expected, strict=True):
            assert ours.is_cuda or entry.name in HOST_RESULTS, f"{sample}: on the host"
            np.testing.assert_allclose(
                values(ours), values(host), rtol=1e-6, err_msg=str(sample)
            )
