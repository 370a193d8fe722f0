"""Reductions that leave masked-out elements alone: gradtape.masked mirrors torch's."""

from ._mask import combine_input_and_mask as _combine_input_and_mask  # noqa: F401
from ._mask import dims_of as _canonical_dim  # noqa: F401
from ._mask import input_mask as _input_mask  # noqa: F401
from ._mask import output_mask as _output_mask  # noqa: F401
from ._mask import reduction_identity as _reduction_identity  # noqa: F401
from ._mask import where as _where  # noqa: F401
from ._reductions import amax as amax
from ._reductions import amin as amin
from ._reductions import argmax as argmax
from ._reductions import argmin as argmin
from ._reductions import cumprod as cumprod
from ._reductions import cumsum as cumsum
from ._reductions import log_softmax as log_softmax
from ._reductions import logaddexp as logaddexp
from ._reductions import logsumexp as logsumexp
from ._reductions import mean as mean
from ._reductions import median as median
from ._reductions import norm as norm
from ._reductions import normalize as normalize
from ._reductions import prod as prod
from ._reductions import softmax as softmax
from ._reductions import softmin as softmin
from ._reductions import std as std
from ._reductions import sum as sum
from ._reductions import var as var
