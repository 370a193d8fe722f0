"""DistributedDataParallel: one copy of a model in each process, trained as one."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._backend.device import device
from ..._common.refusals import OutOfReachError
from ..._modes.grad_mode import is_grad_enabled, no_grad
from ..._tensor.tensor import Tensor
from ...distributed import ProcessGroup, all_gather_object, broadcast
from ...distributed._world import registered
from ..modules import Module
from ..parameter import is_lazy
from ._buckets import Buckets
from ._nested import changed, tensors_in

__all__ = ["DistributedDataParallel"]

_MIB = 2**20
_BUCKET_MIB = 25
_FIRST_BUCKET_BYTES = _MIB  # small, so that sending begins early

_NOT_NEEDED = (
    "DistributedDataParallel is not needed when a module doesn't have any parameter "
    "that requires a gradient."
)
_SEVERAL_IDS = "device_ids can only be None or contain a single element."
_SEVERAL_TYPES = (
    "DistributedDataParallel's input module must be on the same type of devices, but "
    "input module parameters locate in {}."
)
_IDS_ON_CPU = (
    "DistributedDataParallel device_ids and output_device arguments only work with "
    "single-device/multiple-device GPU modules or CPU modules, but got device_ids {}, "
    "output_device {}, and module parameters {}."
)
_UNINITIALIZED = (
    "Modules with uninitialized parameters can't be used with "
    "`DistributedDataParallel`. Run a dummy forward pass to correctly initialize the "
    "modules"
)
_OLD_BUFFERS = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: "
    "unlike `broadcast_buffers=False`, `forward_sync_buffers=False` still syncs "
    "buffers at init. If you rely on buffers NOT being synced at init (e.g. rank-local "
    "buffers), keep using `broadcast_buffers=False` until `init_sync_buffers` is "
    "available."
)
_BOTH_BUFFERS = (
    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. "
    "`broadcast_buffers` is deprecated and its value is ignored when "
    "`forward_sync_buffers` is provided."
)
_NO_HOOKS = (
    "gradtape averages the gradients of DistributedDataParallel itself and takes no "
    "communication hooks; to change gradients, train under no_sync() and call "
    "torch.distributed.all_reduce on them."
)
_NO_JOIN = (
    "gradtape does not have DistributedDataParallel.join(); give every process as "
    "many batches, as torch.utils.data.DistributedSampler does."
)


class DistributedDataParallel(Module):
    """Train a module in several processes, each with its part of a batch.

    At construction, all take the parameters and buffers of process 0. A backward pass
    ends with the average over the processes in every gradient; under :meth:`no_sync`
    with those of this process alone. Buffers are taken from process 0 before each
    forward pass.

    ``find_unused_parameters`` looks, after each forward pass, for parameters that the
    outputs do not depend on, and expects no gradient from those. ``bucket_cap_mb``
    says how many MiB of gradients travel at once. ``gradient_as_bucket_view``,
    ``static_graph`` and ``batched_grad_copy`` change nothing here but their attributes
    (with ``static_graph`` unused parameters are looked for, too).

    Raises ValueError where there is no process group, RuntimeError where no parameter
    needs a gradient or the module differs between processes; in the forward pass,
    RuntimeError where the backward pass before it left parameters out.

    >>> import gradtape as torch
    >>> import gradtape.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[3., 3.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | device] | None = None,
        output_device: int | device | None = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        self.process_group = registered(process_group)
        ignored: Any = getattr(module, "_ddp_params_and_buffers_to_ignore", ())
        self.parameters_to_ignore: set[str] = set(ignored)
        self._module_parameters = [
            p
            for name, p in module.named_parameters()
            if name not in self.parameters_to_ignore
        ]
        self._set_devices(device_ids, output_device)
        self.dim, self.module, self.static_graph = dim, module, static_graph
        if check_reduction:
            _warn(
                "The `check_reduction` argument in `DistributedDataParallel` "
                "module is deprecated. Please avoid using it."
            )
        sync_at_init = self._set_buffers(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.batched_grad_copy = batched_grad_copy
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        if any(is_lazy(p) for p in self._module_parameters):
            raise RuntimeError(_UNINITIALIZED)
        if init_sync:
            self._make_alike(sync_at_init)
        self.reducer = self._buckets(bucket_cap_mb)

    def _make_alike(self, with_buffers: bool) -> None:
        """Take parameters, and maybe buffers, from process 0."""
        trained = [p for p in self._module_parameters if p.requires_grad]
        _check_same_everywhere(trained, self.process_group)
        self._take_from_first(self._module_parameters)
        if with_buffers:
            self._take_from_first(self._buffers_to_sync())

    def _buckets(self, cap_mib: float | None) -> Buckets:
        self.bucket_bytes_cap = int(
            (_BUCKET_MIB if cap_mib is None else cap_mib) * _MIB
        )
        return Buckets(
            [p for p in self._module_parameters if p.requires_grad],
            self.process_group,
            self.bucket_bytes_cap,
            _FIRST_BUCKET_BYTES if cap_mib is None else self.bucket_bytes_cap,
            self.find_unused_parameters or self.static_graph,
        )

    def _set_devices(self, device_ids: Any, output_device: Any) -> None:
        parameters = self._module_parameters
        if not any(p.requires_grad for p in parameters):
            raise RuntimeError(_NOT_NEEDED)
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(_SEVERAL_IDS)
        places = {p.device for p in parameters}
        types = {place.type for place in places}
        if len(types) != 1:
            raise ValueError(_SEVERAL_TYPES.format(types))
        self.is_multi_device_module = len(places) > 1
        (self.device_type,) = types
        self.device = parameters[0].device
        self.device_ids: list[int] | None = None
        self.output_device: int | None = None
        alone = self.device_type != "cpu" and not self.is_multi_device_module
        if device_ids and alone:
            self.device_ids = [_index(device_ids[0])]
            self.output_device = _index(
                device_ids[0] if output_device is None else output_device
            )
        elif device_ids or output_device:
            raise ValueError(_IDS_ON_CPU.format(device_ids, output_device, places))

    def _set_buffers(self, old: bool | None, new: bool | None) -> bool:
        """Say whether buffers are taken from process 0 in forward; return: at init."""
        if old is not None:
            _warn(_OLD_BUFFERS if new is None else _BOTH_BUFFERS)
        if new is not None:
            self.forward_sync_buffers = new
            return True
        self.forward_sync_buffers = old is None or old
        return self.forward_sync_buffers

    @property
    def broadcast_buffers(self) -> bool:
        """Whether buffers are taken from process 0 before a forward pass."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    # ---- training -------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module returns, and expect a backward pass from it."""
        learns = is_grad_enabled() and self.require_backward_grad_sync
        if learns:
            self.reducer.check_finished()
        if self.require_forward_param_sync and self.forward_sync_buffers:
            self._take_from_first(self._buffers_to_sync())
        if self.device_ids:
            inputs, kwargs = changed((inputs, kwargs), self._to_device)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = learns
        if learns:
            self.reducer.arm(tensors_in(output))
        else:
            self.reducer.disarm()
        return output

    def _to_device(self, tensor: Tensor) -> Tensor:
        assert self.device_ids
        return tensor.to(device("cuda", self.device_ids[0]))

    @contextmanager
    def no_sync(self) -> Generator[None]:
        """Let backward passes accumulate this process's gradients alone.

        The forward passes have to be inside, too. The first backward pass after it
        averages what was accumulated.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Raise OutOfReachError: gradients are averaged, and nothing else."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        raise OutOfReachError(_NO_HOOKS)

    def join(self, *args: Any, **kwargs: Any) -> Any:
        """Raise OutOfReachError: processes need as many batches each."""
        raise OutOfReachError(_NO_JOIN)

    # ---- what process 0 has ---------------------------------------------------------

    def _buffers_to_sync(self) -> list[Tensor]:
        return [
            buffer
            for name, buffer in self.module.named_buffers()
            if name not in self.parameters_to_ignore
        ]

    def _take_from_first(self, tensors: Sequence[Tensor]) -> None:
        with no_grad():
            for tensor in tensors:
                broadcast(tensor.detach(), group=self.process_group, group_src=0)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, FutureWarning, stacklevel=4)


def _index(given: int | device) -> int:
    return given if isinstance(given, int) else given.index or 0


def _check_same_everywhere(parameters: Sequence[Tensor], group: ProcessGroup) -> None:
    """Raise RuntimeError where processes have other parameters than process 0."""
    shapes = [list(p.shape) for p in parameters]
    everywhere: list[Any] = [None] * group.size()
    all_gather_object(everywhere, shapes, group)
    first, rank = everywhere[0], group.rank()
    for other, found in enumerate(everywhere):
        if len(found) != len(shapes):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {rank} has "
                f"{len(shapes)} params, while rank {other} has inconsistent "
                f"{len(found)} params."
            )
    for other, found in enumerate(everywhere):
        for index, (shape, theirs) in enumerate(zip(found, first, strict=True)):
            if shape != theirs:
                raise RuntimeError(
                    f"[{rank}]: params[{index}] in process {other} with sizes {shape} "
                    f"appears not to match sizes of the same param in process 0: "
                    f"{theirs}."
                )
