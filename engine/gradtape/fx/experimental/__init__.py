"""gradtape.fx.experimental: out of reach, see docs/out-of-reach.md."""

from . import proxy_tensor as proxy_tensor
