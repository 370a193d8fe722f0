"""Schedulers of the learning rate: the same values, warnings and state as PyTorch's."""

from ._base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._base import LRScheduler as LRScheduler
from ._base import _enable_get_lr_call as _enable_get_lr_call  # pyright: ignore[reportPrivateUsage]
from ._base import _LRScheduler as _LRScheduler  # pyright: ignore[reportPrivateUsage]
from ._base import per_group as _format_param  # noqa: F401
from ._base import update_group as _update_param_group_val  # noqa: F401
from ._base import values_of as _param_groups_val_list  # noqa: F401
from ._base import warn_outside_step as _warn_get_lr_called_within_step  # noqa: F401
from ._compose import ChainedScheduler as ChainedScheduler
from ._compose import ReduceLROnPlateau as ReduceLROnPlateau
from ._compose import SequentialLR as SequentialLR
from ._cyclic import CyclicLR as CyclicLR
from ._cyclic import OneCycleLR as OneCycleLR
from ._cyclic import _constant as _constant  # files name what CyclicLR scales by
from ._cyclic import _exponential as _exponential
from ._cyclic import _halving as _halving
from ._steps import ConstantLR as ConstantLR
from ._steps import CosineAnnealingLR as CosineAnnealingLR
from ._steps import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from ._steps import ExponentialLR as ExponentialLR
from ._steps import LambdaLR as LambdaLR
from ._steps import LinearLR as LinearLR
from ._steps import MultiplicativeLR as MultiplicativeLR
from ._steps import MultiStepLR as MultiStepLR
from ._steps import PolynomialLR as PolynomialLR
from ._steps import StepLR as StepLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
