"""Precision-recall curves for TensorBoard."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._files import Summary, SummaryMetadata, TensorProto, TensorShapeProto

_MOST_THRESHOLDS = 127  # one more byte in the plugin's record, and nothing is shown
_LEAST_COUNT = 1e-7


def pr_curve(
    tag: str,
    labels: Any,
    predictions: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Any:
    """Return the record of a curve of predictions in [0, 1] of labels 0 and 1."""
    thresholds = min(num_thresholds, _MOST_THRESHOLDS)
    data = _counts(labels, predictions, thresholds, 1.0 if weights is None else weights)
    return record(tag, data, thresholds)


def record(tag: str, data: Any, thresholds: int) -> Any:
    """Return the record of (counts and rates, thresholds)."""
    # Field 2 of the plugin's record; field 1, its version, is 0 and left out.
    content = bytes([2 << 3, min(thresholds, _MOST_THRESHOLDS)])
    plugin = SummaryMetadata.PluginData(plugin_name="pr_curves", content=content)
    proto = TensorProto(
        dtype="DT_FLOAT",
        float_val=data.reshape(-1).tolist(),
        tensor_shape=TensorShapeProto(
            dim=[TensorShapeProto.Dim(size=size) for size in data.shape]
        ),
    )
    metadata = SummaryMetadata(plugin_data=plugin)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=proto)])


def _counts(labels: Any, predictions: Any, thresholds: int, weights: Any) -> Any:
    """Count hits and misses above each threshold; add precision and recall."""
    last = thresholds - 1
    bins = np.floor(predictions * last).astype(np.int32)
    hits = labels.astype(np.float64)

    def above(amounts: Any) -> Any:
        found, _ = np.histogram(
            bins, bins=thresholds, range=(0, last), weights=amounts * weights
        )
        return np.cumsum(found[::-1])[::-1]

    true_pos, false_pos = above(hits), above(1.0 - hits)
    true_neg, false_neg = false_pos[0] - false_pos, true_pos[0] - true_pos
    precision = true_pos / np.maximum(_LEAST_COUNT, true_pos + false_pos)
    recall = true_pos / np.maximum(_LEAST_COUNT, true_pos + false_neg)
    return np.stack((true_pos, false_pos, true_neg, false_neg, precision, recall))
