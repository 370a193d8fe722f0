"""gradtape.distributed.device_mesh: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from .._common.refusals import refused

DeviceMesh = refused("distributed.DeviceMesh")
init_device_mesh = refused("distributed.init_device_mesh")
