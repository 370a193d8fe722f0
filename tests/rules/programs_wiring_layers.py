"""Programs whose layers, parameters and optimizers do not know each other."""

from __future__ import annotations

from tests.rules.harness import Case, case

LAYERS: list[Case] = [
    case(
        "head_replaced_after_the_optimizer",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, classes):
                super().__init__()
                self.body = nn.Linear(4, 8)
                self.head = nn.Linear(8, classes)

            def forward(self, x):
                return self.head(torch.relu(self.body(x)))

        net = Net(10)
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        net.head = nn.Linear(8, 2)  # CULPRIT
        for step in range(2):
            loss = net(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-stale-params",
        says=["`head.bias` and `head.weight`", "`opt`"],
        related=["took its parameters here"],
    ),
    case(
        "model_made_anew_after_the_optimizer",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)
                self.b = nn.Linear(4, 1)

            def forward(self, x):
                return self.b(torch.tanh(self.a(x)))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net = Net()  # CULPRIT
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "optimizer-stale-params",
    ),
    case(
        "parameter_assigned_after_the_optimizer",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net.weight = nn.Parameter(torch.zeros(1, 3))  # CULPRIT
        for step in range(2):
            opt.zero_grad()
            (net(torch.randn(5, 3)) - 1).pow(2).mean().backward()
            opt.step()
        """,
        "optimizer-stale-params",
    ),
    case(
        "layers_appended_to_a_list",
        """
        import torch
        from torch import nn

        class Deep(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = []  # CULPRIT
                for _ in range(depth):
                    self.layers.append(nn.Linear(4, 4))
                self.out = nn.Linear(4, 1)

            def forward(self, x):
                for layer in self.layers:
                    x = torch.tanh(layer(x))
                return self.out(x)

        net = Deep(2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "layers-in-plain-list",
        says=["`self.layers`", "4 trainable tensors"],
        related=["created here"],
    ),
    case(
        "layers_in_a_dict",
        """
        import torch
        from torch import nn

        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.heads = {  # CULPRIT
                    "a": nn.Linear(4, 1),
                    "b": nn.Linear(4, 2),
                }

            def forward(self, x):
                x = self.body(x)
                return {name: head(x) for name, head in self.heads.items()}

        net = Heads()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        out = net(torch.randn(5, 4))
        loss = out["a"].mean() + out["b"].pow(2).mean()
        loss.backward()
        opt.step()
        """,
        "layers-in-plain-list",
    ),
    case(
        "plain_tensor_as_a_weight",
        """
        import torch
        from torch import nn

        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.gain = torch.ones(3, requires_grad=True)  # CULPRIT

            def forward(self, x):
                return self.fc(x) * self.gain

        net = Scale()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 3)).pow(2).mean().backward()
            opt.step()
        """,
        "layers-in-plain-list",
        says=["gain"],
    ),
    case(
        "warm_up_that_never_ended",
        """
        import torch
        from torch import nn

        body, head = nn.Linear(4, 8), nn.Linear(8, 1)
        for p in body.parameters():
            p.requires_grad = False  # CULPRIT
        warm = torch.optim.SGD(head.parameters(), lr=0.1)
        for step in range(2):
            warm.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            warm.step()
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
        for step in range(2):
            opt.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
        """,
        "forgotten-unfreeze",
        says=["`opt`", "2 steps"],
    ),
    case(
        "everything_frozen",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        net.requires_grad_(False)  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.randn(5, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        """,
        "forgotten-unfreeze",
    ),
    case(
        "freeze_by_an_attribute",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
                self.head = nn.Linear(8, 1)

            def forward(self, x):
                return self.head(self.body(x))

        net = Net()
        net.body.requires_grad = False  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "freeze-attribute-typo",
        says=["`body`"],
    ),
    case(
        "weights_tied_by_data",
        """
        import torch
        from torch import nn

        class Auto(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc = nn.Linear(4, 4, bias=False)
                self.dec = nn.Linear(4, 4, bias=False)
                self.dec.weight.data = self.enc.weight.data  # CULPRIT

            def forward(self, x):
                return self.dec(torch.relu(self.enc(x)))

        net = Auto()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "tied-storage-two-parameters",
        says=["dec.weight", "enc.weight"],
    ),
    case(
        "weights_tied_by_a_second_parameter",
        """
        import torch
        from torch import nn

        embed, out = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False)
        out.weight = nn.Parameter(embed.weight.data)  # CULPRIT
        opt = torch.optim.Adam([*embed.parameters(), *out.parameters()])
        for step in range(2):
            opt.zero_grad()
            out(embed(torch.tensor([1, 2]))).pow(2).mean().backward()
            opt.step()
        """,
        "tied-storage-two-parameters",
    ),
    case(
        "target_network_shares_the_memory_of_the_other",
        """
        import torch
        from torch import nn

        online, target = nn.Linear(4, 2), nn.Linear(4, 2)
        opt = torch.optim.SGD(online.parameters(), lr=0.1)

        def follow():
            for ours, theirs in zip(target.parameters(), online.parameters()):
                ours.data = theirs.data  # CULPRIT

        for step in range(4):
            if step % 2 == 0:
                follow()
            state, after = torch.randn(8, 4), torch.randn(8, 4)
            with torch.no_grad():
                goal = 1 + 0.9 * target(after).max(1).values
            loss = (online(state).max(1).values - goal).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "tied-storage-two-parameters",
        says=["target.weight", "online.weight", "copy_"],
    ),
]
