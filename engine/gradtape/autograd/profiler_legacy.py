"""The old name of the profiler, which it still answers to."""

from __future__ import annotations

from . import profiler


class profile(profiler.profile):
    """Record as :class:`gradtape.autograd.profiler.profile` does; use that instead."""

    _kind = "LEGACY"

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
    ) -> None:
        super().__init__(
            enabled,
            use_cuda=use_cuda,
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
        )
