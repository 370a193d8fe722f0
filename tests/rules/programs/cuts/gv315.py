"""GV315: checkpoint-without-grad-input."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "checkpoint_behind_frozen_embeddings",
        """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        embed, adapter, head = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        embed.requires_grad_(False)
        opt = torch.optim.SGD([*adapter.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            hidden = embed(torch.tensor([1, 2, 3]))
            hidden = checkpoint(adapter, hidden, use_reentrant=True)  # CULPRIT
            loss = head(hidden).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "checkpoint-without-grad-input",
        says=["Pass `use_reentrant=False`."],
    ),
    case(
        "checkpoints_of_a_configured_kind",
        """
        import functools
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        class Net(nn.Module):
            def __init__(self, save_memory=True):
                super().__init__()
                self.stem, self.head = nn.Linear(3, 4), nn.Linear(4, 1)
                kind = functools.partial(checkpoint, use_reentrant=True)  # CULPRIT
                self.run = kind if save_memory else self.call

            def call(self, module, x):
                return module(x)

            def forward(self, x):
                return self.head(self.run(self.stem, x))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            loss = net(torch.randn(5, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "checkpoint-without-grad-input",
        related=["called here"],
    ),
    case(
        "checkpoints_with_settings",
        """
        import torch
        from torch import nn
        from torch.utils import checkpoint as saving

        SETTINGS = {
            "preserve_rng_state": False,
            "use_reentrant": True,  # CULPRIT
        }
        stem, head = nn.Linear(3, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*stem.parameters(), *head.parameters()], lr=0.1)

        def saved(module, x):
            return saving.checkpoint(module, x, **SETTINGS)

        for step in range(2):
            loss = head(saved(stem, torch.randn(5, 3))).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "checkpoint-without-grad-input",
    ),
]
