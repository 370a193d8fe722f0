"""FileWriter: records of a run as events in one file."""

from __future__ import annotations

import time
from typing import Any

from ._files import Event, EventFileWriter


class FileWriter:
    """Writes records to one file of events in a folder."""

    def __init__(
        self,
        log_dir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        self.event_writer = EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: Any = None) -> None:
        """Write an event, at this time unless another is given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: Any = None
    ) -> None:
        """Write a record as an event."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write what waits to disk."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits to disk and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Go on after :meth:`close`, in a new file."""
        self.event_writer.reopen()
