"""Whether a thread is inside a function that ``func`` transforms; what is refused."""

from __future__ import annotations

import threading


class _Active(threading.local):
    """How many transforms the thread is inside of."""

    depth = 0
    more = False
    """Whether other examples of a vmap follow, for which graphs have to be kept."""


active = _Active()


_PERHAPS = "(or perhaps using torch.autograd.functional.* APIs) "


def refuse_inside(what: str) -> None:
    """Raise PyTorch's RuntimeError where a transformed function calls ``what``."""
    if active.depth:
        also = _PERHAPS if what == "requires_grad_()" else ""
        raise RuntimeError(
            f"You are attempting to call Tensor.{what} {also}inside of a function "
            "being transformed by a functorch transform. This is unsupported, please "
            "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, "
            f"hessian) or call {what} outside of a function being transformed instead."
        )


def refuse_backward() -> None:
    """Raise PyTorch's RuntimeError where a transformed function calls backward()."""
    if active.depth:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, "
            "please use functorch.grad or functorch.vjp instead or call backward() "
            "outside of functorch transforms."
        )
