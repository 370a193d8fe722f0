"""``cpu.amp.GradScaler``, deprecated as in PyTorch."""

from ...amp._deprecated import older_scaler as _older_scaler
from ...amp.grad_scaler import OptState as OptState

__all__ = ["GradScaler"]

GradScaler = _older_scaler("cpu")
