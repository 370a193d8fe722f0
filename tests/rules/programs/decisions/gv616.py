"""GV616: labels that were cut out of a table of floats."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "labels_cut_out_of_a_table",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        import numpy as np
        from torch.utils.data import TensorDataset, DataLoader
        def load():
            table = np.random.RandomState(0).rand(60, 5).astype("float32")
            table[:, 4] = np.arange(60) % 3
            return table
        table = load()
        features = torch.tensor(table[:, :4])
        labels = torch.tensor(table[:, 4])  # CULPRIT
        loader = DataLoader(TensorDataset(features, labels), batch_size=20)
        model = nn.Linear(4, 3)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "dtype-mismatch",
    ),
]
