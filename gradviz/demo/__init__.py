"""`gradviz demo`: train a small network, record one step, write its page."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz.errors import GradvizError
from gradviz.extras import is_installed, missing
from gradviz.showing import browser

if TYPE_CHECKING:
    from gradviz.ir import Snapshot

_PAGE = Path("gradviz-demo.html")


def add_demo(commands: Any) -> None:
    """Add the command to the others."""
    demo = commands.add_parser(
        "demo",
        help="train a small network and look at its graph",
        description="Trains a small CNN on handwritten digits, with gradtape or, where "
        "that is not installed, with PyTorch; records one step of the training, and "
        "writes and opens a page that shows it.",
    )
    demo.add_argument(
        *("-o", "--output"),
        type=Path,
        default=_PAGE,
        metavar="PAGE",
        help=f"the page to write; default: {_PAGE}",
    )
    demo.add_argument(
        "--no-open", action="store_true", help="do not open the page in a browser"
    )
    demo.set_defaults(execute=_demo)


def _demo(options: argparse.Namespace) -> int:
    from gradviz.export import check_target, export_html
    from gradviz.render.html import read_bundle

    if (lacks := missing("demo")) and not is_installed("torch"):
        raise GradvizError(lacks)
    check_target(options.output)  # before the training, not after it
    read_bundle()
    snapshot, summary = _train_and_record()
    print(summary)
    page = export_html(snapshot, options.output)
    print(f"Page: {page.resolve()}")
    if not options.no_open:
        browser.open_page(page)
    return 0


def _train_and_record() -> tuple[Snapshot, str]:
    import gradviz
    from gradviz.demo import digits, train

    data = digits.load()
    began = time.perf_counter()
    training = train.train(data)
    seconds = time.perf_counter() - began
    accuracy = train.accuracy(training.model, data)
    images, labels = next(train.batches(data))
    with gradviz.record(title="gradviz demo: one training step") as recorder:
        loss = training.step(images, labels)
    snapshot = recorder.snapshot()
    summary = (
        f"Trained on {len(data.train_labels):,} digits in {seconds:.1f} s; "
        f"{accuracy:.1%} of {len(data.test_labels)} held-out digits are right.\n"
        f"Recorded one training step with loss {loss.item():.4f}: "
        f"{len(snapshot.nodes)} nodes, {len(snapshot.edges)} edges, "
        f"{len(snapshot.saved)} saved tensors."
    )
    return snapshot, summary
