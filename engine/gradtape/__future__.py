"""Switches for what modules do with parameters that are converted."""

from __future__ import annotations


class _Switches:
    """One per process, as in PyTorch."""

    overwrite = False
    swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let conversions put new parameters into modules instead of changing the old.

    With it, ``module.double()`` leaves references to the old parameters as they were.
    """
    _Switches.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Tell whether conversions put new parameters into modules.

    >>> import gradtape as torch
    >>> torch.__future__.get_overwrite_module_params_on_conversion()
    False
    """
    return _Switches.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let conversions swap parameters with the converted: see utils.swap_tensors()."""
    _Switches.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Tell whether conversions swap parameters with the converted.

    >>> import gradtape as torch
    >>> torch.__future__.get_swap_module_params_on_conversion()
    False
    """
    return _Switches.swap
