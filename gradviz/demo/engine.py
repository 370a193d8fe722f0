"""What the demo trains with: gradtape, or PyTorch where only that is installed.

Both have the names that the demo uses; type checkers are shown gradtape's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.extras import is_installed

if TYPE_CHECKING or is_installed("gradtape"):
    import gradtape as torch
    from gradtape import Tensor, nn, optim
else:
    import torch
    from torch import Tensor, nn, optim

__all__ = ["Tensor", "nn", "optim", "torch"]
