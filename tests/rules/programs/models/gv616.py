"""GV616: dtype-mismatch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "one_hot_target_of_integers",
        """
        import torch
        import torch.nn.functional as F
        net = torch.nn.Linear(5, 3)
        target = F.one_hot(torch.tensor([0, 2, 1, 1]), 3)  # CULPRIT
        F.cross_entropy(net(torch.randn(4, 5)), target).backward()
        """,
        "dtype-mismatch",
        says=["`target` is int64"],
    ),
    case(
        "class_labels_as_floats",
        """
        import torch
        net = torch.nn.Linear(5, 3)
        labels = torch.tensor([0.0, 2.0, 1.0, 1.0])  # CULPRIT
        torch.nn.CrossEntropyLoss()(net(torch.randn(4, 5)), labels).backward()
        """,
        "dtype-mismatch",
        says=["`labels` is float32"],
    ),
    case(
        "mean_of_integers",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        counts = torch.tensor([3, 4, 5])  # CULPRIT
        ((counts - counts.mean()) * w).sum().backward()
        """,
        "dtype-mismatch",
        says=["does not work on int64, and `counts` is int64"],
    ),
    case(
        "one_minus_a_mask",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        mask = torch.tensor([1.0, 0.0, 2.0]) > 0.5  # CULPRIT
        (w * (1 - mask)).sum().backward()
        """,
        "dtype-mismatch",
        says=["bool", "Invert it with `~mask`."],
    ),
    case(
        "integers_for_a_loss_of_floats",
        """
        import torch
        import torch.nn as nn
        labels = torch.tensor([[1], [0]])  # CULPRIT
        score = nn.Linear(4, 1)(torch.randn(2, 4))
        nn.functional.binary_cross_entropy_with_logits(score, labels).backward()
        """,
        "dtype-mismatch",
    ),
    case(
        "float64_from_numpy",
        """
        import numpy as np
        import torch
        from torch import nn

        def load():
            raw = np.random.RandomState(0).rand(5, 3)
            x = torch.from_numpy(raw)  # CULPRIT
            return x / x.max()

        net = nn.Linear(3, 1)
        x = load()
        net(x - x.mean(0)).sum().backward()
        """,
        "dtype-mismatch",
        says=["float64", "float32"],
    ),
    case(
        "integers_into_a_layer",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        x = torch.tensor([[1, 2, 3], [4, 5, 6]])  # CULPRIT
        net(x).sum().backward()
        """,
        "dtype-mismatch",
        says=["int64"],
    ),
    case(
        "model_in_double",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        net.double()  # CULPRIT
        out = net(torch.randn(5, 3))
        """,
        "dtype-mismatch",
        says=["float64"],
    ),
    case(
        "labels_as_floats",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(3, 4)
        labels = torch.tensor([0.0, 1.0, 3.0])  # CULPRIT
        loss = F.cross_entropy(net(torch.randn(3, 3)), labels)
        loss.backward()
        """,
        "dtype-mismatch",
    ),
    case(
        "hidden_state_in_double",
        """
        import torch
        from torch import nn

        cell = nn.Linear(6, 3)
        h = torch.zeros(2, 3, dtype=torch.float64)  # CULPRIT
        for t in range(3):
            h = torch.tanh(cell(torch.cat([torch.randn(2, 3), h], 1)))
        """,
        "dtype-mismatch",
    ),
    case(
        "doubles_added_into_sums_of_floats",
        """
        import numpy as np
        import torch
        net = torch.nn.Linear(2, 1)
        def to_tensors(table):
            return dict(
                x=torch.from_numpy(table["x"]).float(),
                group=torch.from_numpy(table["group"]),
                area=torch.from_numpy(table["area"]),  # CULPRIT
            )
        def sums(x, group, area):
            total = torch.zeros(2)
            return total.index_add_(0, group, net(x).squeeze(1) / area[group])
        x, group = np.random.rand(5, 2), np.array([0, 0, 1, 1, 1])
        batch = to_tensors(dict(x=x, group=group, area=np.array([0.5, 1.5])))
        sums(**batch).sum().backward()
        """,
        "dtype-mismatch",
        says=["`total` is float32", "float64"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "classes_counted_from_integers",
        """
        import torch
        import torch.nn as nn
        labels = torch.tensor([0, 2, 1])
        smooth = nn.functional.one_hot(labels, num_classes=3)  # CULPRIT
        logits = nn.Linear(4, 3)(torch.randn(3, 4))
        loss = nn.CrossEntropyLoss()(logits, smooth)  # INSTEAD
        """,
        "dtype-mismatch",
    ),
]
