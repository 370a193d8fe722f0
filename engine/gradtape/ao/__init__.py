"""gradtape.ao: out of reach, see docs/out-of-reach.md."""

from . import quantization as quantization
