"""GV125: rows-written-twice."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "messages_to_one_receiver",
        """
        import torch
        from torch import nn
        talk = nn.Linear(3, 3)
        nodes = torch.randn(4, 3)
        sender = torch.tensor([0, 1, 2, 3, 0, 1])
        receiver = torch.tensor([1, 2, 1, 1, 3, 3])
        inbox = torch.zeros_like(nodes)
        inbox[receiver] += talk(nodes[sender])  # CULPRIT
        inbox.square().sum().backward()
        """,
        "rows-written-twice",
        says=["6 entries"],
    ),
    case(
        "messages_added_out_of_place",
        """
        import torch
        from torch import nn
        talk = nn.Linear(3, 3)
        nodes = torch.randn(4, 3)
        receiver = torch.tensor([1, 0, 1, 1])
        inbox = torch.zeros_like(nodes)
        inbox[receiver] = inbox[receiver] + talk(nodes)  # CULPRIT
        inbox.square().sum().backward()
        """,
        "rows-written-twice",
    ),
]
