"""What the profiler records while it is on: calls, blocks and memory."""
