"""``torch.ops.profiler``: naming blocks of code by ops, as compiled programs do."""

from __future__ import annotations

from .._profiling import blocks

_record_function_enter = blocks.enter
_record_function_enter_new = blocks.enter
_record_function_exit = blocks.leave
