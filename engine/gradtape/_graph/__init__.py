"""The recorded graph: ops, nodes, scopes and events, without what walks them."""
