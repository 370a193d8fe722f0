"""GV658: padding-in-loss."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "padding_as_a_class",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.nn.utils.rnn import pad_sequence
        seqs = [torch.randint(1, 9, (n,)) for n in (7, 5, 4, 2)]
        tags = [torch.randint(1, 4, (len(s),)) for s in seqs]
        emb, rnn, head = (
            nn.Embedding(9, 4, padding_idx=0),
            nn.GRU(4, 6, batch_first=True),
            nn.Linear(6, 4),
        )
        opt = torch.optim.Adam(
            [*emb.parameters(), *rnn.parameters(), *head.parameters()]
        )
        x, t = (
            pad_sequence(seqs, batch_first=True),
            pad_sequence(tags, batch_first=True),
        )
        for _ in range(3):
            o, _ = rnn(emb(x))
            loss = F.cross_entropy(head(o).view(-1, 4), t.view(-1))  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "padding-in-loss",
        says=["ignore_index=0"],
    ),
    case(
        "padding_counted_from_another_number_on",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.nn.utils.rnn import pad_sequence
        tags = [torch.randint(0, 3, (n,)) for n in (7, 5, 4, 2)]
        head = nn.Linear(4, 4)
        opt = torch.optim.Adam(head.parameters())
        t = pad_sequence(tags, batch_first=True, padding_value=-1)
        x = torch.randn(4, 7, 4)
        for _ in range(3):
            classes = t + 1
            loss = F.cross_entropy(head(x).view(-1, 4), classes.view(-1))  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "padding-in-loss",
        says=["filled up with -1", "as class 0", "ignore_index=0"],
    ),
]
