"""Hands what the engine announces of public calls to the parts that note it."""

from __future__ import annotations

from gradviz._capture.adapters.gradtape.backward import Passes
from gradviz._capture.adapters.gradtape.calls import Calls
from gradviz._capture.adapters.gradtape.context import GradtapeContext
from gradviz._capture.adapters.gradtape.grad_modes import Switches


class CallEvents:
    """Listens to the calls, passes, switches and hooks of the program."""

    def __init__(
        self, log: GradtapeContext, calls: Calls, passes: Passes, switches: Switches
    ) -> None:
        self._scans, self._size = log.scan.on, log.size
        self.user_files = log.user_files
        self.began, self.ended, self.raised = calls.begin, calls.end, calls.fail
        self.pass_began, self.pass_ended = passes.pass_began, passes.pass_ended
        self.pass_raised = passes.pass_raised
        self.mode_switched = switches.mode_switched
        self.hook_registered = switches.hook_registered
        self.hook_removed = switches.hook_removed

    @property
    def eager(self) -> bool:
        """Whether calls are announced when they begin; later arguments may differ."""
        return self._scans and not self._size.counting
