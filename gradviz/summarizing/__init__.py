"""``gradviz.summary``: the layers of a model, what each costs, and what it keeps."""

from __future__ import annotations

from gradviz.summarizing.layers import Layer as Layer
from gradviz.summarizing.show import Summary as Summary
from gradviz.summarizing.summary import summary as summary
