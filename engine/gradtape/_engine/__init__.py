"""The backward pass: which nodes run, in which order, and what becomes of gradients."""

from . import node_methods as node_methods  # installs them on Node
