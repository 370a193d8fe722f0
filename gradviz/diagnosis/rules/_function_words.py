"""How a program calls the inputs of its own autograd Functions."""

from __future__ import annotations

from gradviz.program import CustomFunction


def argument(custom: CustomFunction, number: int) -> str:
    """Return "`x`" for an input of forward, or "input 0" where its name is lost."""
    code = custom.forward
    names = () if code is None else code.co_varnames[: code.co_argcount]
    place = number + (len(names) > len(custom.inputs) or names[:1] == ("ctx",))
    return f"`{names[place]}`" if place < len(names) else f"input {number}"
