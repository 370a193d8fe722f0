"""`gradviz demo`: train a small network, record one step, write its page."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gradviz import _browser
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.ir import Snapshot


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit status.

    Example:
        >>> main(["--no-open", "--output", "demo.html"])  # doctest: +SKIP
        0
    """
    parser = argparse.ArgumentParser(prog="gradviz demo", description=main.__doc__)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    return run(options.output, open_page=not options.no_open)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the demo on a parser."""
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("gradviz-demo.html"), metavar="PAGE"
    )
    parser.add_argument(
        "--no-open", action="store_true", help="do not open the page in a browser"
    )


def run(output: Path, *, open_page: bool = True) -> int:
    """Train, record one step, write the page to ``output``; return the exit status."""
    from gradviz.export import check_target, export_html
    from gradviz.render.html import read_bundle

    try:
        check_target(output)  # before the training, not after it
        read_bundle()
        snapshot, summary = _train_and_record()
        print(summary)
        export_html(snapshot, output)
    except GradvizError as error:
        print(f"gradviz demo: {error}", file=sys.stderr)
        return 2
    print(f"Page: {output.resolve()}")
    if open_page:
        _browser.open_page(output)
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
