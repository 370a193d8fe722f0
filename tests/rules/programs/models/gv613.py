"""GV613: dropout-active-in-eval."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "dropout_in_an_evaluation",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def evaluate(x):
            with torch.no_grad():
                return net(x).mean().item()  # CULPRIT

        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        evaluate(torch.randn(5, 4))
        """,
        "dropout-active-in-eval",
    ),
    case(
        "functional_dropout_ignores_eval",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

            def forward(self, x):
                x = F.relu(self.a(x))
                x = F.dropout(x, p=0.3)  # CULPRIT
                return self.b(x)

        net = Net()
        net.eval()
        with torch.no_grad():
            net(torch.randn(3, 4))
        """,
        "dropout-active-in-eval",
        says=["`Net`"],
    ),
    case(
        "eval_uncalled",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            net.train()
            loss = net(torch.randn(8, 4)).logsumexp(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.eval  # CULPRIT
            with torch.no_grad():
                print(net(torch.randn(8, 4)).argmax(1))
        """,
        "dropout-active-in-eval",
    ),
    case(
        "layer_made_in_forward",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

            def forward(self, x):
                h = torch.relu(self.first(x))
                h = nn.Dropout(p=0.5)(h)  # CULPRIT
                return self.last(h)

        net = Net()
        opt = torch.optim.Adam(net.parameters())
        for _ in range(2):
            net.train()
            loss = net(torch.randn(8, 4)).logsumexp(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.eval()
            with torch.no_grad():
                print(net(torch.randn(8, 4)).argmax(1))
        """,
        "dropout-active-in-eval",
        says=["eval() does not reach it", "`self.… = nn.Dropout(p=0.5)`"],
    ),
    case(
        "true_by_place_in_a_block_of_a_classifier",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Block(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.mix = nn.Linear(size, size)
            def forward(self, x):
                return x + F.dropout(torch.relu(self.mix(x)), 0.4, True)  # CULPRIT
        class Detector(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([Block(5), Block(5)])
                self.score = nn.Linear(5, 1)
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return self.score(x).squeeze(1)
        model = Detector()
        adam = torch.optim.Adam(model.parameters(), lr=0.01)
        data = [(torch.randn(8, 5), torch.rand(8).round()) for _ in range(3)]
        for epoch in range(2):
            for part, rows in ((True, data[:2]), (False, data[2:])):
                model.train(part)
                for x, wanted in rows:
                    logits = model(x)
                    loss = F.binary_cross_entropy_with_logits(logits, wanted)
                    if part:
                        adam.zero_grad(); loss.backward(); adam.step()
                    else:
                        print(((logits.sigmoid() > 0.5).float() == wanted).sum().item())
        """,
        "dropout-active-in-eval",
        says=["`Block` is in evaluation mode", "Pass `training=self.training`"],
    ),
    case(
        "true_by_name_and_the_largest_score_counts",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Words(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.out = nn.Embedding(20, 8), nn.Linear(8, 3)
            def forward(self, words):
                bag = self.table(words).mean(1)
                bag = nn.functional.dropout(input=bag, p=0.3, training=True)  # CULPRIT
                return torch.log_softmax(self.out(bag), 1)
        def accuracy(net, loader):
            right = 0
            with torch.no_grad():
                for words, kind in loader:
                    _, best = torch.max(net(words), 1)
                    right += (best == kind).sum().item()
            return right
        net = Words()
        loader = [
            (torch.randint(0, 20, (6, 4)), torch.randint(0, 3, (6,))) for _ in range(3)
        ]
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for words, kind in loader:
            opt.zero_grad()
            nn.functional.nll_loss(net(words), kind).backward()
            opt.step()
        net.eval()
        print(accuracy(net, loader))
        """,
        "dropout-active-in-eval",
    ),
    case(
        "attention_that_drops_weights_whatever_the_mode",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Mixer(nn.Module):
            def __init__(self, share):
                super().__init__()
                self.share, self.qkv = share, nn.Linear(4, 12)

            def forward(self, x):
                (q, k, v), p = self.qkv(x).chunk(3, -1), self.share
                return F.scaled_dot_product_attention(q, k, v, dropout_p=p)  # CULPRIT

        net = Mixer(0.5)
        net(torch.randn(2, 3, 4)).sum().backward()
        net.eval()
        with torch.no_grad():
            print(net(torch.randn(2, 3, 4)).sum())
        """,
        "dropout-active-in-eval",
        says=["`dropout_p=p if self.training else 0.0`"],
    ),
    case(
        "attention_that_drops_weights_in_training",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Mixer(nn.Module):
            def __init__(self, share):
                super().__init__()
                self.share, self.qkv = share, nn.Linear(4, 12)

            def forward(self, x):
                q, k, v = self.qkv(x).chunk(3, -1)
                share = self.share if self.training else 0.0
                return F.scaled_dot_product_attention(q, k, v, dropout_p=share)

        net = Mixer(0.5)
        net(torch.randn(2, 3, 4)).sum().backward()
        net.eval()
        with torch.no_grad():
            print(net(torch.randn(2, 3, 4)).sum())
        """,
    ),
]
