"""GV657: last-step-is-padding."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "last_of_unpacked_rows",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.nn.utils.rnn import (
            pad_sequence,
            pack_padded_sequence,
            pad_packed_sequence,
        )
        seqs = [torch.randn(n, 3) for n in (7, 5, 4, 2)]
        y = torch.randint(0, 2, (4,))
        lens = torch.tensor([len(s) for s in seqs])
        rnn, head = nn.LSTM(3, 6, batch_first=True), nn.Linear(6, 2)
        opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
        for _ in range(3):
            x = pad_sequence(seqs, batch_first=True)
            o, _ = rnn(pack_padded_sequence(x, lens, batch_first=True))
            o, _ = pad_packed_sequence(o, batch_first=True)
            z = o[:, -1]  # CULPRIT
            opt.zero_grad()
            F.cross_entropy(head(z), y).backward()
            opt.step()
        """,
        "last-step-is-padding",
        says=["zeros"],
    ),
    case(
        "last_of_rows_filled_by_hand",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        seqs = [torch.randint(1, 9, (n,)) for n in (7, 5, 4, 2)]
        y = torch.randint(0, 2, (4,))
        emb, rnn, head = (
            nn.Embedding(9, 4, padding_idx=0),
            nn.GRU(4, 6, batch_first=True),
            nn.Linear(6, 2),
        )
        opt = torch.optim.Adam(
            [*emb.parameters(), *rnn.parameters(), *head.parameters()]
        )
        for _ in range(3):
            x = torch.zeros(4, 7, dtype=torch.long)
            for i, s in enumerate(seqs):
                x[i, : len(s)] = s
            o, _ = rnn(emb(x))
            z = o[:, -1, :]  # CULPRIT
            opt.zero_grad()
            F.cross_entropy(head(z), y).backward()
            opt.step()
        """,
        "last-step-is-padding",
        says=["made of the padding"],
    ),
]
