"""The reentrant checkpoint: one node whose derivative is a pass of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from .._autocast.autocast import state as autocast
from .._modes.grad_mode import enable_grad, mode, no_grad
from .._tensor.tensor import Tensor
from ..autograd import _api
from ..autograd.function import Function
from ..ops.creation.random import get_rng_state, set_rng_state
from ..random import fork_rng
from . import _checkpoint_errors as errors
from ._pytree import tree_leaves
from ._sketch import Sketch, differences, sketch_of


class Unchecked:
    """A function whose recomputed values are taken as they are."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs with tensors replaced by leaves that need gradients alike.

    Raises RuntimeError for anything but a tuple.
    """
    if not isinstance(inputs, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple([_leaf(each) if isinstance(each, Tensor) else each for each in inputs])


def _leaf(tensor: Tensor) -> Tensor:
    leaf = tensor.detach()
    leaf.requires_grad = tensor.requires_grad
    return leaf


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no input needs a gradient, so that none will be computed."""
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None",
            UserWarning,
            stacklevel=2,
        )


class CheckpointFunction(Function):
    """Runs a function unrecorded, and again, recorded, in backward."""

    @staticmethod
    def forward(
        ctx: Any,
        run_function: Callable[..., Any],
        preserve_rng_state: bool,
        *args: Any,
    ) -> Any:
        """Call the function; keep its arguments and the random state."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = get_rng_state() if preserve_rng_state else None
        ctx.surroundings = Surroundings()
        ctx.inputs = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.indices = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.indices])
        with no_grad():
            outputs = run_function(*args)
        compared = preserve_rng_state and not isinstance(run_function, Unchecked)
        ctx.sketches = [
            sketch_of(each) if compared and isinstance(each, Tensor) else None
            for each in _as_tuple(outputs)
        ]
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Call the function again and send the gradients through it."""
        task = mode.now.task
        if task is not None and not task.can_checkpoint:
            raise RuntimeError(errors.NOT_ALL_LEAVES)
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.indices, ctx.saved_tensors, strict=True):
            inputs[index] = tensor
        detached = detach_variable(tuple(inputs))
        forked = fork_rng(enabled=ctx.state is not None)
        with forked, ctx.surroundings.again(), enable_grad():
            if ctx.state is not None:
                set_rng_state(ctx.state)
            outputs = _as_tuple(ctx.run_function(*detached))
        _compare(ctx.sketches, outputs)
        sent = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=False)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not sent:
            raise RuntimeError(errors.NO_GRADIENT)
        # By its module: who follows the passes of a run stands in for it there.
        _api.backward([output for output, _ in sent], [grad for _, grad in sent])
        found = [each.grad if isinstance(each, Tensor) else None for each in detached]
        return (None, None, *found)


def _as_tuple(outputs: Any) -> tuple[Any, ...]:
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def _compare(sketches: list[Sketch | None], outputs: tuple[Any, ...]) -> None:
    """Refuse outputs that are not those of forward."""
    changed: list[str] = []
    for number, (sketch, output) in enumerate(zip(sketches, outputs, strict=False)):
        if sketch is None or not isinstance(output, Tensor):
            continue
        text = differences(sketch, sketch_of(output))
        if text:
            node = output._grad_fn  # a view that is stale would refuse to tell its own
            origin = "" if node is None else f", made by {node.name()} at {node.site}"
            changed.append(f"output {number}{origin}: {text}\n")
    if changed:
        raise errors.CheckpointError(
            errors.OTHER_VALUES.format(tensors="".join(changed))
        )


# ---- what a checkpointed function runs in ----
# One generator, whose state is on the host, serves all devices: beside it there are no
# random states to keep.


class Surroundings:
    """The module call and the autocast that there are now, for a second run."""

    def __init__(self) -> None:
        self._scope = mode.scope
        self._enabled, self._dtypes = dict(autocast.enabled), dict(autocast.dtypes)
        self._cache_enabled = autocast.cache_enabled

    @contextmanager
    def again(self) -> Generator[None, None, None]:
        """Make them those of the block, for which parameters are cast anew."""
        outer = Surroundings()
        autocast.nesting += 1
        self._apply()
        try:
            yield
        finally:
            autocast.nesting -= 1
            if not autocast.nesting:
                autocast.cache.clear()
            outer._apply()

    def _apply(self) -> None:
        mode.scope = self._scope
        autocast.enabled.update(self._enabled)
        autocast.dtypes.update(self._dtypes)
        autocast.cache_enabled = self._cache_enabled
        autocast.settle()


class DefaultDeviceType:
    """The device type that a checkpoint of host tensors is taken to have."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose the device type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the device type; "cpu" unless another was chosen."""
        return DefaultDeviceType._default_device_type or "cpu"


def infer_device_type(*args: Any) -> str:
    """Return the device type of the tensors in ``args``; warn where there are two."""
    leaves = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
    types = [leaf.device.type for leaf in leaves if leaf.device.type != "cpu"]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two "
            "types of devices. Device state will only be saved for devices of a single "
            "device type, and the remaining devices will be ignored. Consequently, if "
            "any checkpointed functions involve randomness, this may result in "
            "incorrect gradients. (Note that if CUDA devices are among the devices "
            "detected, it will be prioritized; otherwise, the first device encountered "
            f"will be selected.)\nDevice types: {sorted(set(types))} first device "
            f"type: {types[0]}",
            UserWarning,
            stacklevel=2,
        )
    if not types:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in types else types[0]


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return devices with a random state of their own, and the states: none."""
    return [], []


def set_device_states(
    devices: Iterable[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Restore what :func:`get_device_states` returned: nothing."""
