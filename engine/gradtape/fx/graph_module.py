"""gradtape.fx.graph_module: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from .._common.refusals import refused, refused_names

globals().update(refused_names("fx.graph_module"))
GraphModule = refused("fx.GraphModule")
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
