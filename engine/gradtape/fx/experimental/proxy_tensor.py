"""gradtape.fx.experimental.proxy_tensor: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations


def get_proxy_mode() -> None:
    """Return the mode that writes calls into a graph: there is none."""
