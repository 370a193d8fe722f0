"""What a module holds: parameters, buffers, submodules, and access to them."""

from __future__ import annotations

import inspect
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.tensor.queries import typename
from ..parameter import Buffer, Parameter
from . import module as shared


class Registry:
    """Attribute rules of a module: what goes into which table, and what is refused."""

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

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
            shared._global_buffer_registration_hooks, self, name, tensor
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
            shared._global_parameter_registration_hooks, self, name, param
        )

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule under a name, as assigning it to an attribute does."""
        if module is not None and not isinstance(module, Registry):
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
            shared._global_module_registration_hooks, self, name, module
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
        elif isinstance(value, Registry):
            if modules is None:
                raise AttributeError(
                    "cannot assign module before Module.__init__() call"
                )
            self._forget(name, own, self._parameters, self._buffers)
            modules[name] = _through(
                shared._global_module_registration_hooks, self, name, value
            )
        elif modules is not None and name in modules:
            what = f"as child module '{name}'"
            _must_be_none(value, what, "torch.nn.Module or None")
            modules[name] = _through(
                shared._global_module_registration_hooks, self, name, value
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
        plain = type(self).register_buffer is Registry.register_buffer
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
