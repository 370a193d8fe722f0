"""Reductions that leave masked-out elements alone: gradtape.masked mirrors torch's."""

from ._normalizations import cumprod as cumprod
from ._normalizations import cumsum as cumsum
from ._normalizations import log_softmax as log_softmax
from ._normalizations import logaddexp as logaddexp
from ._normalizations import normalize as normalize
from ._normalizations import softmax as softmax
from ._normalizations import softmin as softmin
from ._reductions import amax as amax
from ._reductions import amin as amin
from ._reductions import argmax as argmax
from ._reductions import argmin as argmin
from ._reductions import logsumexp as logsumexp
from ._reductions import mean as mean
from ._reductions import median as median
from ._reductions import norm as norm
from ._reductions import prod as prod
from ._reductions import sum as sum
from ._variance import std as std
from ._variance import var as var
