"""``autograd.graph``: what is in the graph, where gradients go, what nodes keep."""

from ._graph_edges import GradientEdge as GradientEdge
from ._graph_edges import Node as Node
from ._graph_edges import get_gradient_edge as get_gradient_edge
from ._graph_edges import increment_version as increment_version
from ._saved_hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
from ._saved_hooks import save_on_cpu as save_on_cpu
from ._saved_hooks import saved_tensors_hooks as saved_tensors_hooks
