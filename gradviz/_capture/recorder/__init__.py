"""From a log to graphs, a timeline and a live view, for both engines."""
