"""A callback of Hugging Face's ``Trainer`` that watches its training."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from gradviz.integrations.needed import needed
from gradviz.integrations.pages import page_in
from gradviz.watching.ending import AUTO
from gradviz.watching.feed import Sink
from gradviz.watching.handle import Watch, watch


def huggingface_callback(
    *,
    sinks: Iterable[Sink] = (),
    page: str | os.PathLike[str] | None = AUTO,
    **options: Any,
) -> Any:
    """Return a ``TrainerCallback`` that watches the model while it trains.

    The page is ``gradviz-watch.html`` in the trainer's ``output_dir``, unless ``page``
    names another; other options are those of :func:`gradviz.watch`. The watch is
    ``callback.watch`` while it runs and afterwards. A training that goes on from a
    checkpoint goes on counting for the sinks. Raises GradvizError where transformers
    is not installed.
    """
    base = needed(
        "transformers", "transformers", by="gradviz.integrations.huggingface_callback"
    ).TrainerCallback

    class GradvizCallback(base):
        def __init__(self) -> None:
            self.watch: Watch | None = None

        def on_train_begin(
            self,
            args: Any,
            state: Any,
            control: Any,
            model: Any = None,
            optimizer: Any = None,
            **_: Any,
        ) -> None:
            if self.watch is not None:
                self.watch.close()  # of a training that an exception ended
            self.watch = watch(
                model,
                optimizer,
                page=page_in(args.output_dir, page),
                sinks=sinks,
                first_step=state.global_step,
                **options,
            )

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if self.watch is not None:
                self.watch.close()

    return GradvizCallback()
