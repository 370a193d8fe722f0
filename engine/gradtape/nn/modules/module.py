"""Module: the base class of everything that has parameters and a forward.

Walking the tree and saving it lie in ``_base/``.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self

from ..._common.handles import Registry, RemovableHandle, new_registry, register
from ..._common.site import user_stacklevel
from ..._graph.observe import ModuleEntered, ModuleLeft, full_observers, notify
from ..._graph.scope import Scope
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from ...compiler import compile as compile_nothing
from ...ops.tensor.queries import typename
from ..parameter import Buffer, Parameter
from ._base.backward_hooks import BackwardHook, register_module_node_hook
from ._base.state_dict import EXTRA_STATE, ModuleStateDict
from ._base.state_dict import _IncompatibleKeys as _IncompatibleKeys
from ._base.wrapped_hook import WrappedHook

__all__ = ["Module"]

Hook = Callable[..., Any]
_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE
_WrappedHook = WrappedHook

_MIXED_GLOBALLY = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module "
    "hook. Please use only one of them."
)
_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks on a single "
    "Module. Please use only one of them."
)
_SILENCED = (
    "{kind} forward hook with ``always_call=True`` raised an exception that was "
    "silenced as another error was raised in forward: {error}"
)
_NO_TENSOR_OUTPUT = (
    "For backward hooks to be called, module output should be a Tensor or a tuple of "
    "Tensors but received {kind}"
)
_PRE_HOOK_RETURNED = (
    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
    "{returned}."
)

_HOOK_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
"""The tables of a module, by hook number, under PyTorch's names."""

_REPLICA = (
    "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. "
    "The parameters are copied (in a differentiable manner) from the original module. "
    "This means they are not leaf nodes in autograd and so don't accumulate gradients. "
    "If you need gradients in your forward method, consider using autograd.grad "
    "instead."
)

# Tests and tools put fresh tables here, so these names are looked up at each call.
_global_buffer_registration_hooks = new_registry()
_global_module_registration_hooks = new_registry()
_global_parameter_registration_hooks = new_registry()
_global_backward_pre_hooks = new_registry()
_global_backward_hooks = new_registry()
_global_is_full_backward_hook: bool | None = None  # which kind is in use
_global_forward_pre_hooks = new_registry()
_global_forward_hooks = new_registry()
_global_forward_hooks_always_called = new_registry()
_global_forward_hooks_with_kwargs = new_registry()


def has_any_global_hook() -> bool:
    """Tell whether some hook runs on every call of a module."""
    return bool(
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
    )


_has_any_global_hook = has_any_global_hook


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever any module gets a buffer.

    What it returns, unless None, is registered instead.

    >>> from gradtape import nn, zeros
    >>> def show(module, name, buffer):
    ...     print(name)
    >>> with nn.modules.module.register_module_buffer_registration_hook(show):
    ...     nn.Module().register_buffer("mean", zeros(1))
    mean
    """
    return register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a submodule is added.

    What it returns, unless None, is registered instead.

    >>> from gradtape import nn
    >>> def show(module, name, submodule):
    ...     print(name)
    >>> with nn.modules.module.register_module_module_registration_hook(show):
    ...     net = nn.Sequential(nn.ReLU())
    0
    """
    return register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever a parameter is added.

    What it returns, unless None, is registered instead.

    >>> from gradtape import nn
    >>> def show(module, name, parameter):
    ...     print(name)
    >>> with nn.modules.module.register_module_parameter_registration_hook(show):
    ...     layer = nn.Linear(1, 1)
    weight
    bias
    """
    return register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module.

    It runs before the module's own, and may return other arguments.

    >>> import gradtape as torch
    >>> from gradtape import nn
    >>> def double(module, args):
    ...     return args[0] * 2
    >>> with nn.modules.module.register_module_forward_pre_hook(double):
    ...     nn.Identity()(torch.ones(1))
    tensor([2.])
    """
    return register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module.

    It runs before the module's own, and may return another output. With
    ``with_kwargs`` it takes the keyword arguments before the output; with
    ``always_call`` it runs after errors too.

    >>> import gradtape as torch
    >>> from gradtape import nn
    >>> def add_one(module, args, output):
    ...     return output + 1
    >>> with nn.modules.module.register_module_forward_hook(add_one):
    ...     nn.Identity()(torch.ones(1))
    tensor([2.])
    """
    handle = RemovableHandle(
        _global_forward_hooks, extra_dict=_global_forward_hooks_always_called
    )
    _global_forward_hooks[handle.id] = hook
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module.

    Raises RuntimeError where hooks of the older kind are in use.

    >>> import gradtape as torch
    >>> from gradtape import nn
    >>> def show(module, grad_input, grad_output):
    ...     print(module, grad_output)
    >>> x = torch.ones(1, requires_grad=True)
    >>> with nn.modules.module.register_module_full_backward_hook(show):
    ...     nn.ReLU()(x).backward()
    ReLU() (tensor([1.]),)
    """
    return _add_backward_hook(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` of each module's last node.

    The older kind: it misses what other nodes of the module do. Raises RuntimeError
    where full hooks are in use.
    """
    return _add_backward_hook(hook, full=False)


def _add_backward_hook(hook: Hook, full: bool) -> RemovableHandle:
    global _global_is_full_backward_hook  # noqa: PLW0603 - PyTorch's name for it
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED_GLOBALLY)
    _global_is_full_backward_hook = full
    return register(_global_backward_hooks, hook)


class Module(ModuleStateDict):
    """A piece of a model: parameters, buffers, submodules and a ``forward``.

    Assigning a Parameter or a Module to an attribute registers it.

    >>> import gradtape as torch
    >>> class Twice(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Twice()(torch.ones(2))
    tensor([2., 2.])
    """

    _backward_pre_hooks: Registry
    _backward_hooks: Registry
    _forward_hooks: Registry
    _forward_hooks_with_kwargs: Registry
    _forward_hooks_always_called: Registry
    _forward_pre_hooks: Registry
    _forward_pre_hooks_with_kwargs: Registry
    _is_full_backward_hook: bool | None  # which kind of backward hook is in use

    dump_patches: bool = False
    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                f"'{next(iter(kwargs))}'"
            )
        if not self.call_super_init and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but "
                f"{len(args) + 1} were given"
            )
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}
        self._fill_hook_tables()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward with its hooks; nodes recorded inside carry this call's scope."""
        outer = mode.scope
        mode.scope = scope = Scope(self, outer)
        if full_observers:
            notify(ModuleEntered(scope))
        try:
            if (
                self._forward_pre_hooks
                or self._forward_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or has_any_global_hook()
            ):
                return self._call_hooked(args, kwargs)
            return self.forward(*args, **kwargs)
        finally:
            mode.scope = outer
            if full_observers:
                notify(ModuleLeft(scope))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass writes its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Ask for a compiled forward; it runs unchanged, as compile() warns once."""
        compile_nothing(self, *args, **kwargs)

    # ---- what it holds ----

    def register_buffer(
        self, name: str, tensor: Tensor | None, persistent: bool = True
    ) -> None:
        """Keep a tensor with the module's state without training it.

        Raises KeyError for a name that is taken, empty or dotted; TypeError where the
        value is no tensor.
        """
        self._check_name("buffer", "_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = _through(
            _global_buffer_registration_hooks, self, name, tensor
        )
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name, as assigning it to an attribute does."""
        self._check_name("parameter", "_parameters", name)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model "
                f"parameters must be created explicitly. To express '{name}' as a "
                "function of another Tensor, compute the value in the forward() "
                "method."
            )
        self._parameters[name] = _through(
            _global_parameter_registration_hooks, self, name, param
        )

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule under a name, as assigning it to an attribute does."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _through(
            _global_module_registration_hooks, self, name, module
        )

    def register_module(self, name: str, module: Any) -> None:
        """Do what :meth:`add_module` does."""
        self.add_module(name, module)

    def _check_name(self, what: str, table: str, name: Any) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    # ---- attributes ----

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            held = own.get(table)
            if held is not None and name in held:
                return held[name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters, modules = own.get("_parameters"), own.get("_modules")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError(
                    "cannot assign parameters before Module.__init__() call"
                )
            self._forget(name, own, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            _must_be_none(value, f"as parameter '{name}'", "torch.nn.Parameter or None")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError(
                    "cannot assign module before Module.__init__() call"
                )
            self._forget(name, own, self._parameters, self._buffers)
            modules[name] = _through(
                _global_module_registration_hooks, self, name, value
            )
        elif modules is not None and name in modules:
            what = f"as child module '{name}'"
            _must_be_none(value, what, "torch.nn.Module or None")
            modules[name] = _through(
                _global_module_registration_hooks, self, name, value
            )
        elif isinstance(value, Buffer) or name in (own.get("_buffers") or ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, *tables: dict[str, Any]) -> None:
        for table in tables:
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        plain = type(self).register_buffer is Module.register_buffer
        if plain or "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that "
                "implements register_buffer() without the persistent argument is not "
                "allowed."
            )

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [
            *dir(type(self)),
            *self.__dict__,
            *self._parameters,
            *self._modules,
            *self._buffers,
        ]
        return sorted(name for name in names if not name[0].isdigit())

    # ---- registering hooks ----

    def _fill_hook_tables(self) -> None:
        """Make the tables that are not there, which old pickles may lack."""
        own = self.__dict__
        for name in _HOOK_TABLES:
            if name not in own:
                own[name] = new_registry()
        own.setdefault("_is_full_backward_hook", None)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; it may return other args.

        With ``with_kwargs`` it also takes the keyword arguments, and returns a pair;
        with ``prepend`` it runs before the others.

        >>> import gradtape as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: args[0] * 2)
        >>> layer(torch.ones(1))
        tensor([2.])
        """
        handle = RemovableHandle(
            self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs
        )
        self._forward_pre_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` afterwards; it may return a new one.

        With ``with_kwargs`` it takes the keyword arguments before the output, with
        ``always_call`` it runs even if forward raises, with ``prepend`` before the
        others.

        >>> import gradtape as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, out: out + 1)
        >>> layer(torch.ones(1))
        tensor([2.])
        """
        handle = RemovableHandle(
            self._forward_hooks,
            extra_dict=[
                self._forward_hooks_with_kwargs,
                self._forward_hooks_always_called,
            ],
        )
        self._forward_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)``; it may return another gradient."""
        handle = register(self._backward_pre_hooks, hook)
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once both are known.

        What it returns takes the place of grad_input. Raises RuntimeError where hooks
        of the older kind are in use.

        >>> import gradtape as torch
        >>> layer = torch.nn.ReLU()
        >>> def halve(module, grad_input, grad_output):
        ...     return (grad_input[0] / 2,)
        >>> handle = layer.register_full_backward_hook(halve)
        >>> x = torch.ones(1, requires_grad=True)
        >>> layer(x).backward()
        >>> x.grad
        tensor([0.5000])
        """
        return self._add_backward_hook(hook, True, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` of the module's last node.

        The older kind: it misses what other nodes of the module do. Raises RuntimeError
        where full hooks are in use.
        """
        return self._add_backward_hook(hook, False, False)

    def _add_backward_hook(
        self, hook: Hook, full: bool, prepend: bool
    ) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_MIXED)
        self._is_full_backward_hook = full
        handle = register(self._backward_hooks, hook)
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """Return the full hooks and the older ones, those of all modules first."""
        found: dict[bool | None, list[Hook]] = {True: [], False: [], None: []}
        found[_global_is_full_backward_hook] += _global_backward_hooks.values()
        found[self._is_full_backward_hook] += self._backward_hooks.values()
        return found[True], found[False]

    def _get_backward_pre_hooks(self) -> list[Hook]:
        everywhere = _global_backward_pre_hooks
        return [*everywhere.values(), *self._backward_pre_hooks.values()]

    # ---- calling with hooks ----

    def _call_hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call forward with all hooks around it."""
        called: set[int] = set()
        # What the hooks that run after errors are to see: it fills up on the way.
        state: list[Any] = [args, kwargs, None]
        try:
            return self._forward_between_hooks(state, called)
        except Exception:
            self._call_always(state, called)
            raise

    def _forward_between_hooks(self, state: list[Any], called: set[int]) -> Any:
        full, partial = self._get_backward_hooks()
        backward_pre = self._get_backward_pre_hooks()
        self._run_pre_hooks(state)
        watcher = None
        if full or backward_pre:
            watcher = BackwardHook(self, full, backward_pre)
            state[0] = watcher.setup_input_hook(state[0])
        state[2] = self.forward(*state[0], **state[1])
        self._run_post_hooks(state, called)
        found = state[2]
        if watcher is not None:
            if not isinstance(found, (Tensor, tuple)):
                message = _NO_TENSOR_OUTPUT.format(kind=type(found))
                warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
            found = state[2] = watcher.setup_output_hook(found)
        if partial:
            register_module_node_hook(self, partial, state[0], found)
        return found

    def _run_pre_hooks(self, state: list[Any]) -> None:
        hooks = (*_global_forward_pre_hooks.items(),)
        for key, hook in (*hooks, *self._forward_pre_hooks.items()):
            if key not in self._forward_pre_hooks_with_kwargs:
                returned = hook(self, state[0])
                if returned is not None:
                    pair = isinstance(returned, tuple)
                    state[0] = returned if pair else (returned,)
                continue
            returned = hook(self, state[0], state[1])
            if returned is None:
                continue
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise RuntimeError(_PRE_HOOK_RETURNED.format(returned=returned))
            state[0], state[1] = returned

    def _run_post_hooks(self, state: list[Any], called: set[int]) -> None:
        hooks = (*_global_forward_hooks.items(),)
        for key, hook in (*hooks, *self._forward_hooks.items()):
            if (
                key in self._forward_hooks_always_called
                or key in _global_forward_hooks_always_called
            ):
                called.add(key)
            if (
                key in self._forward_hooks_with_kwargs
                or key in _global_forward_hooks_with_kwargs
            ):
                returned = hook(self, state[0], state[1], state[2])
            else:
                returned = hook(self, state[0], state[2])
            if returned is not None:
                state[2] = returned

    def _call_always(self, state: list[Any], called: set[int]) -> None:
        """Run the hooks that are to run after errors too, unless they have already."""
        everywhere = _global_forward_hooks
        always = _global_forward_hooks_always_called
        for key, hook in list(everywhere.items()):
            if key in always and key not in called:
                _silently("global module", state, hook, self, state[0])
        for key, hook in list(self._forward_hooks.items()):
            if key in self._forward_hooks_always_called and key not in called:
                kwargs = key in self._forward_hooks_with_kwargs
                given = (state[0], state[1]) if kwargs else (state[0],)
                _silently("module", state, hook, self, *given)

    # ---- training ----

    def train(self, mode: bool = True) -> Self:
        """Set training mode on this module and all below; dropout and norms differ."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switch gradients for all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(_REPLICA, UserWarning, stacklevel=2)
        for parameter in self.parameters():
            reset_grad(parameter, set_to_none)

    # ---- text ----

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the printed module."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({name}): {indent(repr(module))}"
            for name, module in self._modules.items()
        ]
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        if extra_lines or child_lines:
            body = "\n  ".join([*extra_lines, *child_lines])
            return f"{self._get_name()}(\n  {body}\n)"
        return f"{self._get_name()}()"

    # ---- copying ----

    def _replicate_for_data_parallel(self) -> Self:
        """Return a copy that shares its buffers and has no parameters of its own."""
        replica = self.__new__(type(self))
        own = self.__dict__
        tables = {name: own[name].copy() for name in ("_buffers", "_modules")}
        replica.__dict__ = {**own, **tables, "_parameters": {}, "_is_replica": True}
        return replica

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self._fill_hook_tables()


def _through(hooks: dict[int, Any], owner: Any, name: str, value: Any) -> Any:
    for hook in hooks.values():
        replaced = hook(owner, name, value)
        if replaced is not None:
            value = replaced
    return value


def _must_be_none(value: Any, what: str, expected: str) -> None:
    if value is not None:
        raise TypeError(
            f"cannot assign '{typename(value)}' {what} ({expected} expected)"
        )


def _silently(kind: str, state: list[Any], hook: Hook, *args: Any) -> None:
    try:
        returned = hook(*args, state[2])
        if returned is not None:
            state[2] = returned
    except Exception as error:
        warnings.warn(
            _SILENCED.format(kind=kind, error=error),
            UserWarning,
            stacklevel=user_stacklevel(),
        )


def indent(text: str) -> str:
    """Indent all lines but the first by two spaces; blank lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


def reset_grad(tensor: Any, set_to_none: bool) -> None:
    """Drop the gradient of one tensor, or fill it with zeros without history."""
    gradient = tensor._grad
    if gradient is None:
        return
    if set_to_none:
        tensor._grad = None
    else:
        if gradient.grad_fn is not None:
            gradient.detach_()
        else:
            gradient.requires_grad_(False)
        gradient.zero_()
