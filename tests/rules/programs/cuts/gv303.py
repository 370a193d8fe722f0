"""GV303: forward-under-no-grad."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "whole_forward_under_no_grad",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

        def forward(x):
            with torch.no_grad():  # CULPRIT
                return net(x)

        out = forward(torch.randn(3, 4))
        loss = out.pow(2).mean()
        loss.backward()
        """,
        "forward-under-no-grad",
        says=["`net` (4 parameters)"],
    ),
    case(
        "set_grad_enabled_block",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for phase in ["train", "val"]:
            for step in range(2):
                x = torch.randn(3, 4)
                with torch.set_grad_enabled(phase == "val"):  # CULPRIT
                    loss = net(x).pow(2).mean()
                if phase == "train":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
        "forward-under-no-grad",
    ),
    case(
        "encoder_under_no_grad_in_the_optimizer",
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Linear(4, 8)
                self.head = nn.Linear(8, 1)

            def forward(self, x):
                with torch.no_grad():  # CULPRIT
                    features = torch.relu(self.encoder(x))
                return self.head(features)

        model = Model()
        opt = torch.optim.Adam(model.parameters())
        for step in range(3):
            opt.zero_grad()
            model(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "forward-under-no-grad",
        says=["`encoder.bias` and `encoder.weight` get no gradient"],
    ),
    case(
        "packed_gru_without_gradients",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        gru = nn.GRU(4, 5, batch_first=True)
        head = nn.Linear(5, 1)
        x = torch.randn(3, 6, 4)
        lengths = torch.tensor([6, 2, 4])
        pack = nn.utils.rnn.pack_padded_sequence
        packed = pack(x, lengths, batch_first=True, enforce_sorted=False)
        with torch.no_grad():  # CULPRIT
            out, h = gru(packed)
        opt = torch.optim.SGD([*gru.parameters(), *head.parameters()], 0.1)
        for _ in range(3):
            loss = head(h[-1]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "forward-under-no-grad",
    ),
    case(
        "inference_mode_block",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        with torch.inference_mode():  # CULPRIT
            out = net(torch.ones(3, 2))
        loss = out.pow(2).mean()
        loss.backward()
        """,
        "forward-under-no-grad",
    ),
    case(
        "attack_on_a_copy_without_gradients",
        """
        import torch
        from torch import nn
        def fgsm(net, images):
            images = images.clone().requires_grad_()
            with torch.no_grad():  # CULPRIT
                inputs = (images - 0.5) / 0.5
            net(inputs).sum().backward()
            return images + 0.1 * images.grad.sign()
        fgsm(nn.Linear(4, 3), torch.rand(5, 4))
        """,
        "forward-under-no-grad",
        says=["`images`"],
    ),
    case(
        "query_encoded_without_gradients",
        """
        import copy
        import torch
        import torch.nn as nn
        query = nn.Linear(4, 3)
        key = copy.deepcopy(query).requires_grad_(False)
        x = torch.randn(5, 4)
        with torch.no_grad():  # CULPRIT
            k = key(x)
            q = query(x)
        (q * k).sum().backward()
        """,
        "forward-under-no-grad",
    ),
    case(
        "slope_in_a_check_that_a_default_runs_without_gradients",
        """
        from contextlib import nullcontext
        import torch
        from torch import nn

        class Runner:
            def __init__(self, net, steps, fast=True):  # CULPRIT
                self.net, self.steps, self.fast = net, steps, fast

            def guard(self):
                return torch.no_grad() if self.fast else nullcontext()

            def slope(self, x):
                x = x.clone().requires_grad_()
                (found,) = torch.autograd.grad(self.net(x).sum(), x, create_graph=True)
                return found

            def check(self):
                with self.guard():
                    return self.slope(torch.ones(3, 1)).abs().max()

            def run(self):
                optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
                for _ in range(self.steps):
                    optimizer.zero_grad()
                    (self.slope(torch.rand(4, 1)) - 1).pow(2).mean().backward()
                    optimizer.step()
                return self.check()

        Runner(nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)), 3).run()
        """,
        "forward-under-no-grad",
        says=["`True` in line 6 chose that block."],
    ),
    case(
        "features_of_a_block_that_a_table_of_settings_chose",
        """
        import torch
        from torch import nn

        SETTINGS = {"width": 4, "quiet": True}  # CULPRIT

        def grad_mode(quiet):
            return torch.no_grad() if quiet else torch.enable_grad()

        def train():
            encoder, head = nn.Linear(2, SETTINGS["width"]), nn.Linear(4, 1)
            both = [*encoder.parameters(), *head.parameters()]
            optimizer = torch.optim.SGD(both, 0.1)
            for _ in range(3):
                with grad_mode(SETTINGS["quiet"]):
                    h = encoder(torch.randn(5, 2)).tanh()
                optimizer.zero_grad()
                head(h).pow(2).mean().backward()
                optimizer.step()

        train()
        """,
        "forward-under-no-grad",
        related=["switches gradients off"],
    ),
]
