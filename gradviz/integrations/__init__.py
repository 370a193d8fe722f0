"""``gradviz.watch`` beside other tools: where it tells what it sees, and trainers.

Sinks go to ``gradviz.watch(model, sinks=[…])``, or to a callback, which calls it.
"""

from __future__ import annotations

from gradviz.integrations.huggingface import huggingface_callback
from gradviz.integrations.json_lines import JSONLines
from gradviz.integrations.lightning import lightning_callback
from gradviz.integrations.mlflow import MLflow
from gradviz.integrations.tensorboard import TensorBoard
from gradviz.integrations.wandb import WandB
from gradviz.watching.feed import Sink

__all__ = [
    "JSONLines",
    "MLflow",
    "Sink",
    "TensorBoard",
    "WandB",
    "huggingface_callback",
    "lightning_callback",
]
