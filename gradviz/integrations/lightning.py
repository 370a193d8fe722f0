"""A callback of Lightning's ``Trainer`` that watches its training."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from gradviz.integrations.needed import needed
from gradviz.integrations.pages import page_in
from gradviz.watching.ending import AUTO
from gradviz.watching.feed import Sink
from gradviz.watching.handle import Watch, watch


def lightning_callback(
    *,
    sinks: Iterable[Sink] = (),
    page: str | os.PathLike[str] | None = AUTO,
    **options: Any,
) -> Any:
    """Return a ``Callback`` of Lightning that watches the model while it trains.

    The page is ``gradviz-watch.html`` in the trainer's ``default_root_dir``, unless
    ``page`` names another; other options are those of :func:`gradviz.watch`. The watch
    is ``callback.watch`` while it runs and afterwards. It works with ``lightning`` and
    with ``pytorch_lightning``, whichever is imported; raises GradvizError where
    neither is installed.
    """
    base: Any = _library().Callback

    class GradvizCallback(base):
        def __init__(self) -> None:
            self.watch: Watch | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.watch = watch(
                pl_module,
                trainer.optimizers or None,
                page=page_in(trainer.default_root_dir, page),
                sinks=sinks,
                first_step=trainer.global_step,
                **options,
            )

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if self.watch is not None:
                self.watch.close()

        def on_exception(
            self, trainer: Any, pl_module: Any, exception: BaseException
        ) -> None:
            if self.watch is not None:
                self.watch.note_error(exception)
                self.watch.close()

    return GradvizCallback()


def _library() -> Any:
    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        return sys.modules["pytorch_lightning"]
    return needed(
        "lightning.pytorch", "lightning", by="gradviz.integrations.lightning_callback"
    )
