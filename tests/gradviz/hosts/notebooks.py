"""A shell that believes it is a notebook's, and a comm that keeps what is sent."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import comm
from comm.base_comm import BaseComm
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from gradviz.render.mime import SNAPSHOT


class KeptComm(BaseComm):
    """Keeps every message in ``sent`` instead of sending it."""

    def publish_msg(
        self,
        msg_type: str,
        data: Any = None,
        metadata: Any = None,
        buffers: Any = None,
        **keys: Any,
    ) -> None:
        if not hasattr(self, "sent"):
            self.sent: list[tuple[str, dict[str, Any], list[bytes]]] = []
        self.sent.append((msg_type, data or {}, list(buffers or [])))


@contextmanager
def kept_comms(monkeypatch: Any) -> Iterator[list[KeptComm]]:
    """Let widgets open comms that nobody listens to; yield them as they open."""
    opened: list[KeptComm] = []

    def create(*args: Any, **kwargs: Any) -> KeptComm:
        opened.append(KeptComm(*args, **kwargs))
        return opened[-1]

    with monkeypatch.context() as patch:
        patch.setattr(comm, "create_comm", create)
        yield opened


class _Kernel:
    """A kernel in which no request is being handled."""

    def get_parent(self, channel: str | None = None) -> dict[str, Any]:
        return {}


class Cells:
    """Runs cells in a shell; what they showed is in ``shown``."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def run(self, code: str, cell_id: str | None = None) -> Any:
        return self.shell.run_cell(code, store_history=True, cell_id=cell_id)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The data of every display as it is now; a live view replaces its own."""
        shown: dict[object, dict[str, Any]] = {}
        for place, output in enumerate(self.shell.display_pub.outputs):
            key = (output.get("transient") or {}).get("display_id", place)
            shown[key] = output["data"]
        return list(shown.values())

    @property
    def graphs(self) -> list[dict[str, Any]]:
        """The snapshots among them, as JSON."""
        return [data[SNAPSHOT] for data in self.shown if SNAPSHOT in data]


@contextmanager
def notebook_shell(*, kernel: bool = True) -> Iterator[Cells]:
    """Make a shell that ``get_ipython()`` returns; with a kernel, it is a notebook."""
    config = Config()
    config.HistoryManager.enabled = False
    # Doctests leave their last value here, and IPython respects such a name.
    vars(builtins).pop("_", None)
    main = sys.modules["__main__"]  # the shell puts its own module there
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(
        config=config, display_pub_class=CapturingDisplayPublisher, colors="nocolor"
    )
    if kernel:
        shell.kernel = _Kernel()
    try:
        yield Cells(shell)
    finally:
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = main
