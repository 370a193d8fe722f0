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
    case(
        "votes_put_back_out_of_place",
        """
        import torch
        from torch import nn
        vote = nn.Linear(3, 2)
        box = torch.zeros(3, 2)
        for ballots in torch.randn(2, 7, 3):
            party = ballots.argmax(1)
            votes = vote(ballots) + box.index_select(0, party)
            box = box.index_copy(0, party, votes)  # CULPRIT
        box.square().sum().backward()
        """,
        "rows-written-twice",
        says=["rows of `box`", "box = box.index_add(0, index, values)"],
    ),
    case(
        "rows_put_back_once_or_added_up",
        """
        import torch
        from torch import nn
        talk = nn.Linear(3, 3)
        nodes, inbox = torch.randn(6, 3), torch.zeros(4, 3)
        receiver = torch.tensor([1, 2, 1, 1, 3, 3])
        inbox = inbox.index_put((receiver,), talk(nodes), accumulate=True)
        inbox = inbox.index_add(0, receiver, inbox[receiver] + talk(nodes))
        once = torch.tensor([3, 0, 1])
        inbox = inbox.index_copy(0, once, inbox[once] + talk(nodes[:3]))
        places = torch.tensor([[0, 1, 2], [1, 0, 0]])
        inbox = inbox.scatter(0, places, inbox.gather(0, places) + 1)
        inbox.square().sum().backward()
        """,
    ),
]
