"""GV411: nan-poisons-parameters."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "target_at_a_masked_score",
        """
        import torch
        import torch.nn.functional as F
        z = torch.ones(3, 2, requires_grad=True)
        scores = z @ z.T
        scores.fill_diagonal_(float("-inf"))  # CULPRIT
        F.cross_entropy(scores, torch.arange(3)).backward()
        """,
        "nan-poisons-parameters",
        says=["wrote Inf into `scores`", "Let no target point at a masked element"],
    ),
    case(
        "a_nan_in_an_array",
        """
        import numpy as np
        import torch
        import torch.nn as nn
        raw = np.ones((4, 2), dtype=np.float32)
        raw[2, 1] = np.nan
        x = torch.from_numpy(raw)  # CULPRIT
        net = nn.Linear(2, 1)
        opt = torch.optim.Adam(net.parameters())
        for _ in range(2):
            opt.zero_grad()
            net(x).mean().backward()
            opt.step()
        """,
        "nan-poisons-parameters",
        says=["index [2, 1]", "step 1 of 2", "where the data is loaded."],
    ),
    case(
        "a_nan_in_a_list",
        """
        import torch
        x = torch.tensor([[1.0, float("nan")], [0.0, 1.0]])  # CULPRIT
        w = torch.ones(2, 1, requires_grad=True)
        for step in range(3):
            loss = (x @ w).mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
        """,
        "nan-poisons-parameters",
    ),
    case(
        "a_dataset_with_one_bad_row",
        """
        import torch
        import torch.nn as nn
        from torch.utils.data import DataLoader, TensorDataset
        x = torch.ones(6, 2)
        x[4] = float("inf")  # CULPRIT
        loader = DataLoader(TensorDataset(x, torch.zeros(6, 1)), batch_size=2)
        net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            for a, b in loader:
                opt.zero_grad()
                nn.functional.mse_loss(net(a), b).backward()
                opt.step()
        """,
        "nan-poisons-parameters",
    ),
    case(
        "a_nan_target",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        y = torch.zeros(3, 1)
        y[0] = torch.nan  # CULPRIT
        loss = nn.MSELoss()(net(torch.ones(3, 2)), y)
        loss.backward()
        """,
        "nan-poisons-parameters",
    ),
    case(
        "infinity_written_into_a_weight",
        script("""
for number, (x, y) in enumerate(batches):
    if number == 1:
        net[2].weight.data[0, 1] = float("inf")  # CULPRIT
    optimizer.zero_grad()
    F.mse_loss(net(x).square(), y).backward()
    optimizer.step()
"""),
        "nan-poisons-parameters",
        says=("into `2.weight`", "a weight that is trained"),
    ),
]
