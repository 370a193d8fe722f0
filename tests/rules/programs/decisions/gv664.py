"""GV664: index-out-of-range."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "labels_that_count_from_one",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        rows = [[0.1 * i, 0.2 * (i % 7), 1 + i % 4] for i in range(40)]
        def load(rows):
            x = torch.tensor([r[:2] for r in rows])
            y = torch.tensor([r[2] for r in rows])  # CULPRIT
            return x, y
        x, y = load(rows)
        model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 4))
        criterion = nn.CrossEntropyLoss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "index-out-of-range",
        says=["count from 1"],
    ),
    case(
        "a_configuration_with_too_few_classes",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        cfg = {
            "width": 16,
            "n_classes": 9,  # CULPRIT
        }
        class Net(nn.Module):
            def __init__(self, width, n_classes):
                super().__init__()
                self.fc1 = nn.Linear(4, width)
                self.fc2 = nn.Linear(width, n_classes)
            def forward(self, x):
                return self.fc2(self.fc1(x).relu())
        model = Net(cfg["width"], cfg["n_classes"])
        x = torch.randn(64, 4)
        y = torch.arange(64) % 10
        criterion = nn.CrossEntropyLoss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "index-out-of-range",
        says=["10 classes"],
    ),
    case(
        "a_vocabulary_that_counts_from_one",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        VOCAB = {w: i + 1 for i, w in enumerate("the a dog cat runs sits".split())}
        def encode(s):
            return [VOCAB[w] for w in s.split()]
        model = nn.Sequential(
            nn.Embedding(len(VOCAB), 8),  # CULPRIT
            nn.Flatten(),
            nn.Linear(24, 2),
        )
        x = torch.tensor([encode("the dog runs"), encode("a cat sits")])
        y = torch.tensor([0, 1])
        criterion = nn.CrossEntropyLoss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "index-out-of-range",
    ),
    case(
        "more_tokens_than_rows",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        emb = nn.Embedding(50, 8)  # CULPRIT
        tokens = torch.randint(0, 60, (4, 12))
        print(emb(tokens).sum())
        """,
        "index-out-of-range",
    ),
    case(
        "label_out_of_range",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        names = ["cat", "dog", "bird"]
        label_of = {name: i + 1 for i, name in enumerate(names)}  # CULPRIT
        samples = [(name, torch.randn(4)) for name in ("cat", "bird", "dog")]
        net = nn.Linear(4, len(names))
        criterion = nn.CrossEntropyLoss()
        x = torch.stack([s for _, s in samples])
        y = torch.tensor([label_of[n] for n, _ in samples])
        out = net(x)
        loss = criterion(out, y)
        loss.backward()
        """,
        "index-out-of-range",
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
                h, _ = self.lstm(self.emb(tokens))
                return self.out(h)

        vocab = {"<pad>": 0, "the": 1, "cat": 2, "sat": 3}
        net = Tagger(len(vocab))  # CULPRIT
        batch = torch.tensor([[1, 2, 3, 0], [1, 2, 4, 0]])
        net(batch).sum().backward()
        """,
        "index-out-of-range",
    ),
    case(
        "a_table_of_settings_by_name",
        """
        import torch
        from torch import nn
        PRESETS = {
            "tiny": {
                "words": 9,  # CULPRIT
                "width": 4,
            },
            "large": {"words": 99, "width": 8},
        }
        class Net(nn.Module):
            def __init__(self, preset="tiny"):
                super().__init__()
                sizes = PRESETS[preset]
                self.embed = nn.Embedding(sizes["words"], sizes["width"])
            def forward(self, ids):
                return self.embed(ids).mean(1)
        net = Net()
        print(net(torch.tensor([[1, 4, 9]])))
        """,
        "index-out-of-range",
    ),
    case(
        "rows_counted_by_a_property_of_each_column",
        """
        import torch
        from torch import nn
        class Codes:
            def fit(self, column):
                values = sorted(set(column.tolist()))
                self.codes = {value: i for i, value in enumerate(values, start=1)}
                return self
            def transform(self, column):
                return torch.tensor([self.codes.get(v, 0) for v in column.tolist()])
            @property
            def size(self):
                return len(self.codes)  # CULPRIT
        class Model(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.tables = nn.ModuleList(nn.Embedding(size, 2) for size in sizes)
            def forward(self, codes):
                return sum(t(codes[:, i]) for i, t in enumerate(self.tables))
        raw = torch.tensor([[3, 5], [4, 6], [3, 7]])
        columns = [Codes().fit(column) for column in raw.t()]
        codes = torch.stack([c.transform(x) for c, x in zip(columns, raw.t())], 1)
        model = Model([c.size for c in columns])
        model(codes).sum().backward()
        """,
        "index-out-of-range",
    ),
]
