"""Optimizers: the same steps, groups and state as PyTorch's."""

from ._adam import Adam as Adam
from ._adam import AdamW as AdamW
from ._optimizer import Optimizer as Optimizer
from ._sgd import SGD as SGD
