"""GV641: optimizer-of-other-parameters."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "optimizer_of_a_state_dict",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.state_dict().values(), lr=0.1)  # CULPRIT
        for step in range(3):
            loss = net(torch.randn(8, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-of-other-parameters",
    ),
    case(
        "optimizer_of_a_deepcopy",
        """
        import copy
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

        def make_optimizer(module, lr):
            params = copy.deepcopy(list(module.parameters()))
            return torch.optim.Adam(params, lr=lr)  # CULPRIT

        opt = make_optimizer(model, 1e-2)
        x, y = torch.randn(20, 3), torch.randn(20, 1)
        for epoch in range(4):
            loss = (model(x) - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(loss.item())
        """,
        "optimizer-of-other-parameters",
    ),
    case(
        "optimizer_of_another_instance",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 2)
            def forward(self, x):
                return self.fc(x)
        model = Net()
        opt = torch.optim.Adam(Net().parameters(), 1e-2)  # CULPRIT
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        for _ in range(4):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-of-other-parameters",
    ),
    case(
        "meta_model_whose_copies_learn",
        """
        import copy
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        meta = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        outer = torch.optim.Adam(meta.parameters(), 1e-3)
        for task in range(3):
            x, y = torch.rand(20, 1), torch.rand(20, 1)
            learner = copy.deepcopy(meta)  # CULPRIT
            inner = torch.optim.SGD(learner.parameters(), 0.05)
            for _ in range(2):
                inner.zero_grad()
                F.mse_loss(learner(x[:10]), y[:10]).backward()
                inner.step()
            loss = F.mse_loss(learner(x[10:]), y[10:])
            outer.zero_grad()
            loss.backward()
            outer.step()
        """,
        "optimizer-of-other-parameters",
        says=[
            "`outer` (line 6)",
            "`learner` (4 parameters)",
            "add their gradients to the `.grad` of the parameters",
        ],
    ),
    case(
        "inner_loop_that_makes_new_leaves",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Linear(1, 1)
        outer = torch.optim.Adam(net.parameters(), 1e-2)
        for task in range(3):
            x, y = torch.rand(20, 1), torch.rand(20, 1)
            fast = list(net.parameters())
            for _ in range(2):
                loss = F.mse_loss(F.linear(x[:10], *fast), y[:10])
                grads = torch.autograd.grad(loss, fast, create_graph=True)
                pairs = zip(fast, grads)
                fast = [nn.Parameter(w.data - 0.1 * g) for w, g in pairs]  # CULPRIT
            outer.zero_grad()
            F.mse_loss(F.linear(x[10:], *fast), y[10:]).backward()
            outer.step()
        """,
        "optimizer-of-other-parameters",
        says=["`outer` (line 6)", "line 14 makes new leaf tensors"],
    ),
]
