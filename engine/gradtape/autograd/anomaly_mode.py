"""Anomaly detection: say which forward call made the gradient that went wrong."""

from __future__ import annotations

import warnings

from .._common.messages import not_bool
from .._dispatch.anomaly_report import Finding as Finding
from .._graph.anomaly import anomaly
from .._modes.grad_mode import threads, threads_lock

ENABLED = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and "
    "should only be enabled for debugging."
)


def is_anomaly_enabled() -> bool:
    """Tell whether anomaly detection is on, in all threads.

    >>> import gradtape as torch
    >>> torch.is_anomaly_enabled()
    False
    """
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Tell whether anomaly detection, when on, looks for NaN in gradients.

    >>> import gradtape as torch
    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    return anomaly.check_nan


def set_anomaly_enabled(
    enabled: bool, check_nan: bool = True, check_forward: bool = False
) -> None:
    """Switch anomaly detection on or off for all threads."""
    if type(enabled) is not bool:
        raise not_bool(enabled, "set_anomaly_enabled", "enabled")
    if type(check_nan) is not bool:
        raise not_bool(check_nan, "set_anomaly_enabled", "check_nan", 2)
    anomaly.enabled = enabled
    anomaly.check_nan = check_nan
    anomaly.check_forward = check_forward
    with threads_lock:
        for switches in threads:
            switches.anomaly = enabled
            switches.checks = enabled and check_forward
            switches.settle()


class _Restoring:
    """Remembers how anomaly detection was set, and sets it so again."""

    def __init__(self) -> None:
        self._before = (anomaly.enabled, anomaly.check_nan, anomaly.check_forward)

    @property
    def prev(self) -> bool:
        """Whether detection was on before."""
        return self._before[0]

    @property
    def prev_check_nan(self) -> bool:
        """Whether NaN was looked for before."""
        return self._before[1]

    def __exit__(self, *exc: object) -> None:
        set_anomaly_enabled(*self._before)


class detect_anomaly(_Restoring):
    """Find the forward call behind a failing backward, within a ``with`` block.

    Calls made inside remember the user's whole stack, which a warning shows when their
    backward fails. With ``check_nan`` a backward function that returns NaN raises
    RuntimeError; notes on the error tell the index, what the operands held there, and
    where the first infinity arose. With ``check_forward`` so does the forward op that
    gives the first NaN, or makes an infinity of finite operands.

    >>> import warnings
    >>> import gradtape as torch
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with torch.autograd.detect_anomaly():
    ...         try:
    ...             (torch.sqrt(x) * 0).sum().backward()
    ...         except RuntimeError as error:
    ...             print(error)
    ...             print(error.gradtape_finding.operands)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    {'grad': 0.0, 'result': 0.0}
    """

    def __init__(self, check_nan: bool = True, check_forward: bool = False) -> None:
        super().__init__()
        self.check_nan = check_nan
        self.check_forward = check_forward
        warnings.warn(ENABLED, stacklevel=2)

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan, self.check_forward)


class set_detect_anomaly(_Restoring):
    """Switch anomaly detection at once; used in ``with``, restore it at the end.

    >>> import gradtape as torch
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    >>> torch.is_anomaly_enabled()
    False
    """

    def __init__(
        self, mode: bool, check_nan: bool = True, check_forward: bool = False
    ) -> None:
        super().__init__()
        set_anomaly_enabled(mode, check_nan, check_forward)

    def __enter__(self) -> None:
        """Nothing to do: it was switched when this object was made."""
