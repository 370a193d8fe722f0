"""gradtape._subclasses.fake_tensor: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from typing import Any

from .._common.refusals import refused

FakeTensor = refused("_subclasses.fake_tensor.FakeTensor")
FakeTensorMode = refused("_subclasses.fake_tensor.FakeTensorMode")


def is_fake(x: Any) -> bool:
    """Tell whether a tensor stands for one during a capture: none does."""
    return False
