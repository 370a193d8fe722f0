"""Records for TensorBoard: what a writer puts into its file, one function per kind."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ._files import (
    HistogramProto,
    Summary,
    SummaryMetadata,
    TensorProto,
    TensorShapeProto,
    hparams_record,
    layout_record,
)


def make_np(x: Any) -> Any:
    """Return a number, array or tensor as a NumPy array of at least one dimension.

    Raises NotImplementedError for anything else.
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        found = x.detach().cpu()
        if found.dtype.itemsize == 2 and found.dtype.is_floating_point:
            found = found.float()  # bfloat16 is no type of NumPy's own
        return found.numpy()
    raise NotImplementedError(
        f"Got {type(x)}, but numpy array or torch tensor are expected."
    )


def _single(tag: str, **content: Any) -> Any:
    return Summary(value=[Summary.Value(tag=tag, **content)])


def _plugin(name: str) -> Any:
    data = SummaryMetadata.PluginData(plugin_name=name, content=b"")
    return SummaryMetadata(plugin_data=data)


# ---- numbers -----------------------------------------------------------------------


def scalar(
    name: str, tensor: Any, new_style: bool = False, double_precision: bool = False
) -> Any:
    """Return the record of one number."""
    array = make_np(tensor).squeeze()
    if array.ndim:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). Was given size: "
            f"{array.size} and {array.ndim} dimensions."
        )
    value = float(array)
    if not new_style:
        return _single(name, simple_value=value)
    if double_precision:
        proto = TensorProto(double_val=[value], dtype="DT_DOUBLE")
    else:
        proto = TensorProto(float_val=[value], dtype="DT_FLOAT")
    return _single(name, tensor=proto, metadata=_plugin("scalars"))


def default_bins() -> list[float]:
    """Return bins that grow by a tenth each, from 1e-12 to 1e20, on both sides of 0."""
    edges: list[float] = []
    edge = 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-each for each in reversed(edges)] + [0.0] + edges


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: int,
    sum: float,
    sum_squares: float,
    bucket_limits: Any,
    bucket_counts: Any,
) -> Any:
    """Return the record of a histogram that was counted already."""
    histo = HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return _single(name, histo=histo)


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """Count values into bins and return the record.

    ``bins`` are edges, or a rule of :func:`numpy.histogram`; ``max_bins`` joins them.
    Raises ValueError for no values.
    """
    array = make_np(values).astype(float).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _joined(counts, limits, len(counts) // max_bins)
    filled = np.nonzero(counts)[0]
    start, end = int(filled[0]), int(filled[-1]) + 1
    # Records name the right edge of each bin only: an empty bin says where they begin.
    kept = counts[start - 1 : end] if start else np.concatenate([[0], counts[:end]])
    return histogram_raw(
        name,
        array.min(),
        array.max(),
        array.size,
        array.sum(),
        array.dot(array),
        limits[start : end + 1].tolist(),
        kept.tolist(),
    )


def _joined(counts: Any, limits: Any, together: int) -> tuple[Any, Any]:
    """Make one bin of several neighbours."""
    rest = -len(counts) % together
    if rest:
        counts = np.pad(counts, (0, rest))
    counts = counts.reshape(-1, together).sum(-1)
    return counts, np.append(limits[:-1:together], limits[-1])


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Any:
    """Return the record of charts by category: ``{category: {chart: [kind, tags]}}``.

    The kind ``"Margin"`` draws a curve between two others and needs three tags; any
    other draws every tag.
    """
    pages = [
        layout_record("Category")(
            title=title, chart=[_chart(name, *of) for name, of in charts.items()]
        )
        for title, charts in layout.items()
    ]
    content = layout_record("Layout")(category=pages).SerializeToString()
    proto = TensorProto(
        dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto()
    )
    tag = "custom_scalars__config__"
    return _single(tag, tensor=proto, metadata=_plugin("custom_scalars"))


def _chart(name: str, kind: str, tags: list[str]) -> Any:
    chart = layout_record("Chart")
    if kind != "Margin":
        lines = layout_record("MultilineChartContent")(tag=tags)
        return chart(title=name, multiline=lines)
    if len(tags) != 3:
        raise AssertionError("len(tags) != 3")
    margin = layout_record("MarginChartContent")
    series = margin.Series(value=tags[0], lower=tags[1], upper=tags[2])
    return chart(title=name, margin=margin(series=[series]))


def text(tag: str, text: str) -> Any:
    """Return the record of a text."""
    proto = TensorProto(
        dtype="DT_STRING",
        string_val=[text.encode(encoding="utf_8")],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    return _single(f"{tag}/text_summary", tensor=proto, metadata=_text_metadata())


def _text_metadata() -> Any:
    # The plugin's record of its version, 0, is empty.
    return _plugin("text")


# ---- pictures and sounds -----------------------------------------------------------


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """Return the record of a picture, or of several in a grid; needs Pillow.

    Floats lie between 0 and 1, uint8 between 0 and 255.
    """
    array = as_height_width_colour(make_np(tensor), dataformats)
    factor = 1 if array.dtype == np.uint8 else 255
    values = (array.astype(np.float32) * factor).clip(0, 255).astype(np.uint8)
    return _single(tag, image=_picture(values, rescale))


def _picture(array: Any, rescale: float) -> Any:
    from PIL import Image  # optional, and only pictures need it

    height, width, colours = array.shape
    size = int(width * rescale), int(height * rescale)
    found = Image.fromarray(array).resize(size, Image.Resampling.LANCZOS)
    file = io.BytesIO()
    found.save(file, format="PNG")
    return Summary.Image(
        height=height,
        width=width,
        colorspace=colours,
        encoded_image_string=file.getvalue(),
    )


def as_height_width_colour(array: Any, dataformats: str) -> Any:
    """Bring an image to (height, width, colours), and several into one grid.

    Raises AssertionError where ``dataformats`` does not fit the dimensions.
    """
    form = dataformats.upper()
    if len(set(form)) != len(form):
        raise AssertionError(
            "You can not use the same dimension shorthand twice. input_format: "
            f"{dataformats}"
        )
    if array.ndim != len(form):
        raise AssertionError(
            "size of input tensor and input format are different. tensor shape: "
            f"{array.shape}, input_format: {dataformats}"
        )
    if len(form) == 4:
        rows = array.transpose([form.find(c) for c in "NCHW"])
        return _grid(rows).transpose(1, 2, 0)
    if len(form) == 3:
        found = array.transpose([form.find(c) for c in "HWC"])
        return found.repeat(3, 2) if found.shape[2] == 1 else found
    return np.stack([array.transpose([form.find(c) for c in "HW"])] * 3, 2)


def _grid(images: Any) -> Any:
    """Lay (N, C, H, W) out on (3, rows * H, columns * W), at most eight in a row."""
    if images.shape[1] == 1:
        images = images.repeat(3, 1)
    if images.ndim != 4 or images.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, _, height, width = images.shape
    columns = min(count, 8)
    rows = -(-count // columns)
    canvas = np.zeros((3, height * rows, width * columns), images.dtype)
    for number, each in enumerate(images):
        y, x = height * (number // columns), width * (number % columns)
        canvas[:, y : y + height, x : x + width] = each
    return canvas


def figure_to_image(figures: Any, close: bool = True) -> Any:
    """Draw a figure of matplotlib, or a list of them, as (colours, height, width)."""
    import matplotlib.pyplot as plt  # pyright: ignore[reportMissingImports]
    from matplotlib.backends.backend_agg import (  # pyright: ignore[reportMissingImports]
        FigureCanvasAgg,
    )

    if isinstance(figures, list):
        return np.stack([figure_to_image(each, close) for each in figures])
    canvas = FigureCanvasAgg(figures)
    canvas.draw()
    data = np.asarray(canvas.buffer_rgba())
    if close:
        plt.close(figures)
    return np.moveaxis(data[:, :, :3], 2, 0)


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """Return the record of a sound, whose values lie between -1 and 1."""
    array = make_np(tensor).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(samples.tobytes())
    record = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return _single(tag, audio=record)


# ---- precision-recall curves for TensorBoard ---------------------------------

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


# ---- the three records that TensorBoard's table of hyperparameters is made of ----

_VERSION = 0  # of the plugin's data


def hparams(
    hparam_dict: dict[str, Any],
    metric_dict: dict[str, Any],
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """Return the records of the experiment, of its beginning and of its end.

    Values are numbers, strings, bools or tensors of one element; None is left out.
    Raises TypeError for a domain that does not fit, ValueError for other values.
    """
    domains = hparam_domain_discrete or {}
    _check_domains(hparam_dict, domains)
    start = hparams_record("SessionStartInfo")()
    infos: list[Any] = []
    for name, value in hparam_dict.items():
        if value is not None:
            infos.append(_info(name, value, start.hparams[name], domains.get(name)))
    names = hparams_record("MetricName")
    metrics = [hparams_record("MetricInfo")(name=names(tag=tag)) for tag in metric_dict]
    experiment = hparams_record("Experiment")(hparam_infos=infos, metric_infos=metrics)
    end = hparams_record("SessionEndInfo")(
        status=hparams_record("Status").Value("STATUS_SUCCESS")
    )
    return (
        _record("_hparams_/experiment", experiment=experiment),
        _record("_hparams_/session_start_info", session_start_info=start),
        _record("_hparams_/session_end_info", session_end_info=end),
    )


def _check_domains(values: dict[str, Any], domains: Any) -> None:
    if not isinstance(domains, dict):
        raise TypeError(
            "parameter: hparam_domain_discrete should be a dictionary, nothing logged."
        )
    for name, domain in domains.items():
        if (
            name not in values
            or not isinstance(domain, list)
            or not all(isinstance(each, type(values[name])) for each in domain)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same "
                f"type as hparam_dict[{name}]."
            )


def _info(name: str, value: Any, slot: Any, domain: list[Any] | None) -> Any:
    """Put a value into its slot; return the record that describes it."""
    if isinstance(value, Tensor):
        value, domain = make_np(value).item(), None
    if isinstance(value, int | float):  # bools too, as in PyTorch
        field, kind = "number_value", "DATA_TYPE_FLOAT64"
    elif isinstance(value, str):
        field, kind = "string_value", "DATA_TYPE_STRING"
    else:
        raise ValueError(
            "value should be one of int, float, str, bool, or torch.Tensor"
        )
    setattr(slot, field, value)
    found = hparams_record("HParamInfo")(
        name=name, type=hparams_record("DataType").Value(kind)
    )
    for each in domain or ():
        setattr(found.domain_discrete.values.add(), field, each)
    return found


def _record(tag: str, **content: Any) -> Any:
    data = hparams_record("HParamsPluginData")(version=_VERSION, **content)
    plugin = SummaryMetadata.PluginData(
        plugin_name="hparams", content=data.SerializeToString()
    )
    metadata = SummaryMetadata(plugin_data=plugin)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])
