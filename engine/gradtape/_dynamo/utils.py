"""``torch._dynamo.utils``: what libraries ask before they compile."""

from __future__ import annotations

from .._backend.device import device


def is_compile_supported(device_type: str | device) -> bool:
    """Tell whether what ``compile`` returns runs there: it is the function itself.

    >>> from gradtape._dynamo.utils import is_compile_supported
    >>> is_compile_supported("cpu"), is_compile_supported("mps")
    (True, False)
    """
    return device(device_type).type in ("cpu", "cuda")
