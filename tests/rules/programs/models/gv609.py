"""GV609: tied-storage-two-parameters."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "slow_copy_by_reference",
        script("""
slow = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).requires_grad_(False)
for x, y in batches:
    for theirs, mine in zip(net.parameters(), slow.parameters()):
        mine.data = theirs.data  # CULPRIT
    optimizer.zero_grad()
    F.mse_loss(net(x) + slow(x), y).backward()
    optimizer.step()
"""),
        "tied-storage-two-parameters",
        says=("no copy",),
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
        says=["dec.weight", "enc.weight", "not its memory alone"],
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
        says=["target.weight", "online.weight", "copy_", "Copy the values instead"],
    ),
]
