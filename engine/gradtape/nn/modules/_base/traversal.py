"""Walking a tree of modules, finding things by path, converting what it holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from .... import __future__ as switches
from ...._dispatch.declare import FUNCTIONS
from ...._modes.grad_mode import no_grad
from ...._tensor.tensor import Tensor
from ....ops._support.to_arguments import read_module_to
from ....ops.memory.swap import swap_tensors
from ...parameter import Parameter, UninitializedBuffer

_NO_DATA = (
    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
    "instead of torch.nn.Module.to() when moving module from meta to a different "
    "device."
)
_COMPLEX_WARNING = (
    "Complex modules are a new feature under active development whose design may "
    "change, and some modules might not work as expected when using complex tensors "
    "as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
    "complex module does not work as expected."
)


class ModuleTraversal:
    """Iteration over a module and all modules below it."""

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def _get_name(self) -> str:
        return type(self).__name__

    # ---- by path ----

    def get_submodule(self, target: str) -> Any:
        """Return the submodule at a dotted path; raise AttributeError if none is."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, ModuleTraversal):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put a module at a dotted path; with ``strict`` one must be there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleTraversal):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(
            getattr(parent, name), ModuleTraversal
        ):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path."""
        found = self._at(target)
        if not isinstance(found, Parameter):
            raise AttributeError(
                f"`{target.rpartition('.')[2]}` is not an nn.Parameter"
            )
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path."""
        found = self._at(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _at(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)

    # ---- iteration ----

    def children(self) -> Iterator[Any]:
        """Yield the modules directly below this one, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield (name, module) for the modules directly below this one."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Yield this module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self,
        memo: set[Any] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield (dotted path, module) for this module and all below it."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, path, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Yield the parameters of this module and, with ``recurse``, of all below."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield (dotted path, parameter)."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of this module and, with ``recurse``, of all below."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted path, buffer)."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        modules: Iterable[tuple[str, Any]] = [(prefix, self)]
        if recurse:
            modules = self.named_modules(
                prefix=prefix, remove_duplicate=remove_duplicate
            )
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{path}.{name}" if path else name), member

    # ---- changes to all that is held ----

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call ``fn`` on every module, children before their parents."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                where = f"{self._get_name()}.{name}"
                self._parameters[name] = converted(where, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = converted_buffer(buffer, fn)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, a floating-point dtype or a memory format, in place.

        Accepts ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` and ``to(tensor)``;
        ``memory_format`` concerns what has 4 or 5 dimensions. Raises TypeError for a
        dtype that is not a floating-point or complex one.
        """
        device, dtype, non_blocking, _, order = read_module_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but "
                    f"got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(_COMPLEX_WARNING, UserWarning, stacklevel=2)

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(_NO_DATA)
            inexact = tensor.dtype.is_floating_point or tensor.dtype.is_complex
            wanted = dtype if inexact else None
            layout = order if order is not None and tensor.dim() in (4, 5) else None
            return tensor.to(device, wanted, non_blocking, memory_format=layout)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without the values, which are whatever was in memory."""
        return self._apply(
            lambda tensor: FUNCTIONS["empty_like"](tensor, device=device), recurse
        )

    def cpu(self) -> Self:
        """Move everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move everything to a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers to one dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if _is_float(t) else t)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if _is_float(t) else t)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if _is_float(t) else t)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if _is_float(t) else t)

    def share_memory(self) -> Self:
        """Move parameters and buffers to shared memory."""
        return self._apply(lambda t: t.share_memory_())


def _is_float(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point


def converted(where: str, parameter: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Return what takes a parameter's place after ``fn``; most times it is itself.

    :mod:`gradtape.__future__` says whether the parameter keeps being the object that
    it was. ``where`` names it in the RuntimeError for one that cannot be swapped.
    """
    gradient = parameter.grad
    with no_grad():
        found = fn(parameter)
        if switches.get_swap_module_params_on_conversion():
            return _swapped(where, parameter, found, fn)
        if _kept(parameter, found):
            parameter.data = found
            target = parameter
        else:
            target = Parameter(found, parameter.requires_grad)
        if gradient is not None:
            made = fn(gradient)
            if _kept(gradient, made):
                gradient.data = made
                target.grad = gradient
            else:
                target.grad = made.requires_grad_(gradient.requires_grad)
    return target


def converted_buffer(buffer: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Return what takes a buffer's place; one without a shape goes on waiting."""
    found = fn(buffer)
    if isinstance(buffer, UninitializedBuffer):
        found.__class__ = type(buffer)
    return found


def _kept(old: Tensor, new: Tensor) -> bool:
    """Tell whether a tensor takes over what it was converted to."""
    overwrites = switches.get_overwrite_module_params_on_conversion()
    alike = (old.is_sparse, old.is_meta) == (new.is_sparse, new.is_meta)
    return not overwrites and alike


def _swapped(where: str, parameter: Tensor, found: Any, fn: Any) -> Tensor:
    gradient = parameter.grad
    try:
        parameter.grad = None
        swap_tensors(parameter, Parameter(found, parameter.requires_grad))
        if gradient is not None:
            made = fn(gradient)
            if made is not gradient:
                swap_tensors(gradient, made.requires_grad_(gradient.requires_grad))
            parameter.grad = gradient
    except RuntimeError as error:
        raise RuntimeError(f"_apply(): Couldn't swap {where}") from error
    return parameter
