"""GV642: call-refused."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "output_and_state_taken_for_one_tensor",
        """
        import torch
        from torch import nn
        rnn, head = nn.GRU(3, 4), nn.Linear(4, 1)
        hidden = rnn(torch.randn(5, 2, 3))  # CULPRIT
        head(hidden).sum().backward()
        """,
        "call-refused",
        related=["takes the tuple"],
    ),
    case(
        "row_out_of_range",
        """
        import torch
        x = torch.ones(3, 2, requires_grad=True)
        for row in range(4):
            y = x[row] * 2  # CULPRIT
        """,
        "call-refused",
    ),
    case(
        "batch_as_number",
        """
        import torch
        losses = torch.ones(3, requires_grad=True) * 2
        def report(values):
            return values.item()  # CULPRIT
        print(report(losses))
        """,
        "call-refused",
    ),
    case(
        "label_out_of_range",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        names = ["cat", "dog", "bird"]
        label_of = {name: i + 1 for i, name in enumerate(names)}
        samples = [(name, torch.randn(4)) for name in ("cat", "bird", "dog")]
        net = nn.Linear(4, len(names))
        criterion = nn.CrossEntropyLoss()
        x = torch.stack([s for _, s in samples])
        y = torch.tensor([label_of[n] for n, _ in samples])
        out = net(x)
        loss = criterion(out, y)  # CULPRIT
        loss.backward()
        """,
        "call-refused",
    ),
    case(
        "token_out_of_range",
        """
        import torch
        import torch.nn as nn

        class Tagger(nn.Module):
            def __init__(self, vocab, dim=8, tags=4):
                super().__init__()
                self.emb = nn.Embedding(vocab, dim)
                self.lstm = nn.LSTM(dim, dim, batch_first=True)
                self.out = nn.Linear(dim, tags)

            def forward(self, tokens):
                h, _ = self.lstm(self.emb(tokens))  # CULPRIT
                return self.out(h)

        vocab = {"<pad>": 0, "the": 1, "cat": 2, "sat": 3}
        net = Tagger(len(vocab))
        batch = torch.tensor([[1, 2, 3, 0], [1, 2, 4, 0]])
        net(batch).sum().backward()
        """,
        "call-refused",
    ),
]
