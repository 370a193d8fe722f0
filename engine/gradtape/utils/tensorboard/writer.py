"""SummaryWriter: numbers, histograms, pictures and texts of a run, for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from typing import Any

import numpy as np

from ..._common.refusals import refused
from . import summary
from ._files import Event, SessionLog
from .file_writer import FileWriter
from .summary import hparams, pr_curve
from .summary import record as curve_record

__all__ = ["FileWriter", "SummaryWriter"]


class SummaryWriter:
    """Write what a run produces to a folder, where TensorBoard finds it.

    ``log_dir`` is ``runs/<date>_<host><comment>`` unless given. ``purge_step`` hides
    events of this step and later ones, of a run that crashed before. Values are
    numbers, arrays or tensors; steps are ints. Pictures need Pillow, figures need
    matplotlib.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self.default_bins = summary.default_bins()
        self._get_file_writer()

    def _file(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of the folder itself, a new one after close()."""
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = self._file(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                for content in (
                    {"file_version": "brain.Event:2"},
                    {"session_log": SessionLog(status=SessionLog.START)},
                ):
                    self.file_writer.add_event(Event(step=step, **content))
        return self.file_writer

    def get_logdir(self) -> Any:
        """Return the folder."""
        return self.log_dir

    def _add(self, record: Any, step: Any, walltime: Any) -> None:
        self._get_file_writer().add_summary(record, step, walltime)

    # ---- numbers -------------------------------------------------------------------

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Any = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add one number to the curve ``tag``."""
        record = summary.scalar(tag, scalar_value, new_style, double_precision)
        self._add(record, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a number to each of several curves, which are drawn as one picture."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            inner = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if inner not in self.all_writers:
                self.all_writers[inner] = self._file(inner)
            record = summary.scalar(main_tag, value)
            self.all_writers[inner].add_summary(record, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: Any = None,
        max_bins: int | None = None,
    ) -> None:
        """Add the distribution of values. ``bins`` may be a rule of numpy.histogram."""
        edges = self.default_bins if bins == "tensorflow" else bins
        record = summary.histogram(tag, values, edges, max_bins)
        self._add(record, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a distribution that was counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                "len(bucket_limits) != len(bucket_counts), see the document."
            )
        record = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(record, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add precision and recall of predictions in [0, 1] of labels 0 and 1."""
        made = summary.make_np(labels), summary.make_np(predictions)
        record = pr_curve(tag, *made, num_thresholds, weights)
        self._add(record, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a curve that was counted already."""
        rows = (
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
        )
        data = np.stack([summary.make_np(row) for row in rows])
        self._add(curve_record(tag, data, num_thresholds), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Lay out charts: ``{category: {chart: ["Multiline" or "Margin", tags]}}``."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Lay out one chart of several curves."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Lay out one chart of a curve between two others: value, lower, upper."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Add a row to the table of hyperparameters and what they led to."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        records = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = self._get_file_writer().get_logdir()
        with SummaryWriter(os.path.join(folder, run_name or str(time.time()))) as row:
            for record in records:
                row._add(record, global_step, None)
            for name, value in metric_dict.items():
                row.add_scalar(name, value, global_step)

    # ---- pictures, sounds, texts ---------------------------------------------------

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add a picture: floats between 0 and 1, or uint8."""
        record = summary.image(tag, img_tensor, dataformats=dataformats)
        self._add(record, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add several pictures as one grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: Any = None,
    ) -> None:
        """Add a figure of matplotlib, or a list of them as one grid."""
        picture = summary.figure_to_image(figure, close)
        form = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, picture, global_step, walltime, form)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: Any = None,
    ) -> None:
        """Add a sound, (1, length) between -1 and 1."""
        record = summary.audio(tag, snd_tensor, sample_rate)
        self._add(record, global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a text, which may be Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # ---- out of reach --------------------------------------------------------------

    add_graph = refused("utils.tensorboard.SummaryWriter.add_graph")
    add_onnx_graph = refused("utils.tensorboard.SummaryWriter.add_onnx_graph")
    add_embedding = refused("utils.tensorboard.SummaryWriter.add_embedding")
    add_mesh = refused("utils.tensorboard.SummaryWriter.add_mesh")
    add_video = refused("utils.tensorboard.SummaryWriter.add_video")

    # ---- the file ------------------------------------------------------------------

    def flush(self) -> None:
        """Write what waits to disk."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits to disk and close the files; adding more opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
