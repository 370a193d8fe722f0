"""What every node shows besides its record: saved values, metadata, its number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from .._backend.device import device
from .._dtypes import DTYPE_OF, dtype
from .._tensor.memory import CPU, device_of

if TYPE_CHECKING:
    from .output_layout import Layout


class InputMetadata:
    """What a node knows of one gradient that it is handed: its shape, dtype, device."""

    __slots__ = ("device", "dtype", "shape")

    is_nested_tensor = False
    is_cpp_nested_tensor = False

    def __init__(self, layout: Layout, where: device) -> None:
        self.shape = list(layout.shape)
        self.dtype: dtype = DTYPE_OF[layout.dtype]
        self.device = where


class NodeSurface:
    """The parts of a node that the backward loop does not need."""

    __slots__ = ()

    readers: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    """What PyTorch shows as saved under names that are no slots or options here."""

    if TYPE_CHECKING:
        seq: int
        saved: tuple[Any, ...] | None

        @property
        def layouts(self) -> tuple[Layout, ...]: ...

        def name(self) -> str: ...
        def more(self) -> Any: ...

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes on this node, and those of anomaly mode."""
        from .anomaly import notes_of

        notes: dict[Any, Any] = self.more().metadata
        for name, note in notes_of(self).items():  # type: ignore[arg-type]
            notes.setdefault(name, note)
        return notes

    @property
    def requires_grad(self) -> bool:
        """True: where nothing needs a gradient, there is no node."""
        return True

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        where = self._device()
        return tuple([InputMetadata(layout, where) for layout in self.layouts])

    def _device(self) -> device:
        """Return where the node computes, by what it refers to."""
        arrays = [getattr(entry, "array", None) for entry in self.saved or ()]
        variable = getattr(self, "variable", None)
        arrays.append(None if variable is None else variable._data)
        found = [device_of(array) for array in arrays if array is not None]
        return next((each for each in found if each != CPU), CPU)

    def __call__(self, *gradients: Any) -> Any:
        """Run this node alone on gradients; see :func:`_node_call.call_node`."""
        from .._engine.node_call import call_node

        return call_node(self, gradients)  # type: ignore[arg-type]

    def _sequence_nr(self) -> int:
        return self.seq

    def _set_sequence_nr(self, number: int) -> None:
        from .._engine.order import renumbered

        self.seq = number
        if not renumbered:
            renumbered.append(self.name())

    def _register_hook_dict(self, tensor: Any) -> None:
        """Let the hooks in ``tensor._backward_hooks`` see this node's gradients."""
        hooks = tensor._backward_hooks
        if hooks is not None:
            self.more().tensor_hooks[tensor._nr] = hooks

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            from .._engine.saved_attributes import saved_attribute

            return saved_attribute(self, name)  # type: ignore[arg-type]
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        from .._engine.saved_attributes import saved_names

        return [*super().__dir__(), *saved_names(self)]  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"
