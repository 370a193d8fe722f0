"""Programs about leaves: gradients that are not kept, tensors that are no leaves."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- no scalar -------------------------------------------------------------------
    case(
        "loss_per_sample",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 2)
        criterion = nn.CrossEntropyLoss(reduction="none")
        x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
        loss = criterion(net(x), y)  # CULPRIT
        print("loss", loss.shape)
        loss.backward()
        """,
        "non-scalar-backward",
        says=["`loss`", "(4,)"],
    ),
    case(
        "weighted_and_not_reduced",
        """
        import torch
        def weighted(prediction, target, weight):
            return weight * (prediction - target) ** 2
        net = torch.nn.Linear(3, 1)
        x, y = torch.randn(5, 3), torch.randn(5, 1)
        loss = weighted(net(x), y, torch.rand(5, 1))  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
        says=["(5, 1)"],
    ),
    case(
        "mean_over_the_batch_only",
        """
        import torch
        net = torch.nn.Linear(4, 3)
        def criterion(prediction, target):
            return (prediction - target).pow(2).mean(dim=0)  # CULPRIT
        loss = criterion(net(torch.randn(6, 4)), torch.randn(6, 3))
        loss.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "grad_of_a_vector",
        """
        import torch
        x = torch.linspace(0, 1, 5, requires_grad=True)
        y = torch.sin(x)
        (dy,) = torch.autograd.grad(y, x)  # CULPRIT
        """,
        "non-scalar-backward",
    ),
    # ---- the name moved --------------------------------------------------------------
    case(
        "gradient_descent_out_of_place",
        """
        import torch
        x, y = torch.randn(8, 2), torch.randn(8, 1)
        w = torch.zeros(2, 1, requires_grad=True)
        b = torch.zeros(1, requires_grad=True)
        for epoch in range(3):
            loss = (x @ w + b - y).pow(2).mean()
            loss.backward()
            w = w - 0.1 * w.grad  # CULPRIT
            b = b - 0.1 * b.grad  # CULPRIT
        """,
        "reassigned-leaf",
    ),
    case(
        "list_of_parameters_rebuilt",
        """
        import torch
        params = [torch.ones(2, requires_grad=True) for _ in range(2)]
        def loss_of(params):
            return sum((p ** 2).sum() for p in params)
        for step in range(2):
            loss_of(params).backward()
            params = [p - 0.1 * p.grad for p in params]  # CULPRIT
        """,
        "reassigned-leaf",
        says=["`params`"],
    ),
    case(
        "attribute_rebuilt",
        """
        import torch
        class Model:
            def __init__(self):
                self.w = torch.randn(3, requires_grad=True)
            def loss(self, x):
                return (self.w * x).sum() ** 2
            def step(self, rate):
                self.w = self.w - rate * self.w.grad  # CULPRIT
        model = Model()
        for i in range(3):
            model.loss(torch.ones(3)).backward()
            model.step(0.1)
        """,
        "reassigned-leaf",
        says=["`self.w`"],
    ),
    case(
        "rebuilt_without_a_graph",
        """
        import torch
        w = torch.tensor([1.0, -1.0], requires_grad=True)
        for step in range(2):
            loss = (w ** 2).sum()
            loss.backward()
            with torch.no_grad():
                w = w - 0.1 * w.grad  # CULPRIT
        """,
        "reassigned-leaf",
    ),
    # ---- not the leaf ----------------------------------------------------------------
    case(
        "double_after_the_leaf",
        """
        import torch
        w = torch.randn(3, 2, requires_grad=True)
        w64 = w.double()  # CULPRIT
        x = torch.ones(4, 3, dtype=torch.float64)
        loss = (x @ w64).pow(2).sum()
        loss.backward()
        step = 0.1 * w64.grad
        """,
        "nonleaf-after-to",
    ),
    case(
        "scaled_at_birth",
        """
        import torch
        w = torch.randn(3, requires_grad=True) * 0.01  # CULPRIT
        for step in range(2):
            loss = (w * torch.ones(3)).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
        """,
        "nonleaf-after-to",
    ),
    case(
        "reshaped_at_birth",
        """
        import torch
        kernel = torch.ones(9, requires_grad=True).reshape(3, 3)  # CULPRIT
        (kernel * 2).sum().backward()
        print(kernel.grad)
        """,
        "nonleaf-after-to",
    ),
    case(
        "parameter_converted",
        """
        import torch
        import torch.nn as nn
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.gain = nn.Parameter(torch.ones(2)).to(torch.float64)  # CULPRIT
            def forward(self, x):
                return self.lin(x) * self.gain
        net = Scale()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            optimizer.zero_grad()
            net(torch.ones(3, 2)).sum().backward()
            optimizer.step()
        """,
        "nonleaf-after-to",
    ),
    # ---- not kept --------------------------------------------------------------------
    case(
        "gradient_of_features",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.head = nn.Conv1d(1, 2, 3), nn.Linear(8, 1)
            def forward(self, x):
                self.features = torch.relu(self.conv(x))  # CULPRIT
                return self.head(self.features.flatten(1))
        net = Net()
        score = net(torch.randn(1, 1, 6)).sum()
        score.backward()
        weights = net.features.grad
        """,
        "intermediate-grad-none",
        says=["ReluBackward0"],
    ),
    case(
        "mean_of_none",
        """
        import torch
        image = torch.rand(1, 3, requires_grad=True)
        scaled = image * 255  # CULPRIT
        scaled.pow(2).sum().backward()
        saliency = scaled.grad.abs()
        """,
        "intermediate-grad-none",
    ),
    case(
        "retained_after_the_pass",
        """
        import torch
        net = torch.nn.Linear(3, 3)
        h = net(torch.ones(1, 3))
        loss = h.pow(2).sum()
        loss.backward()
        h.retain_grad()  # CULPRIT
        print(h.grad)
        """,
        "retain-grad-too-late",
        says=["`h`"],
        related=["backward pass"],
    ),
    case(
        "kept_after_a_hook_that_came_later",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        h.retain_grad()
        h.register_hook(lambda g: g * 10)  # CULPRIT
        h.sum().backward()
        assert h.grad.tolist() == [10.0, 10.0, 10.0]
        """,
        "hook-order",
        says=["`h`", "what all hooks have made"],
        related=["kept here"],
    ),
]

FINE = [
    case(
        "leaf_updated_in_place",
        """
        import torch
        w = torch.zeros(2, requires_grad=True)
        for step in range(3):
            loss = (w - 1).pow(2).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
        """,
    ),
    case(
        "kept_gradients",
        """
        import torch
        net = torch.nn.Linear(3, 3)
        h = net(torch.ones(1, 3))
        h.retain_grad()
        h.pow(2).sum().backward()
        assert h.grad is not None
        """,
    ),
    case(
        "adversarial_input",
        """
        import torch
        net = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
        for step in range(2):
            adversary = x.detach().clone().requires_grad_()
            for k in range(2):
                loss = torch.nn.functional.cross_entropy(net(adversary), y)
                (g,) = torch.autograd.grad(loss, adversary)
                adversary = (adversary + 0.1 * g.sign()).detach().requires_grad_()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(adversary), y).backward()
            optimizer.step()
        """,
    ),
    case(
        "detached_state_is_a_new_leaf",
        """
        import torch
        cell = torch.nn.RNNCell(2, 3)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        h = torch.zeros(1, 3)
        for step in range(3):
            h = h.detach().requires_grad_()
            h = cell(torch.ones(1, 2), h)
            optimizer.zero_grad()
            h.sum().backward()
            optimizer.step()
        """,
    ),
    case(
        "kept_beside_a_hook_that_only_looks",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h, seen = x * 2, []
        h.retain_grad()
        h.register_hook(seen.append)
        h.sum().backward()
        assert h.grad.tolist() == seen[0].tolist() == [1.0, 1.0, 1.0]
        """,
    ),
]
