"""The three records that TensorBoard's table of hyperparameters is made of."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ._files import Summary, SummaryMetadata, hparams_record
from .summary import make_np

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
