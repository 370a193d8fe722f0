"""GV631: selection-from-itself."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "class_weights_replaced_by_those_of_a_batch",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)

        class Weighted(nn.Module):
            def __init__(self):
                super().__init__()
                self.alpha = torch.tensor([0.1, 0.9, 0.9])

            def forward(self, logits, labels):
                self.alpha = self.alpha.gather(0, labels)  # CULPRIT
                losses = F.cross_entropy(logits, labels, reduction="none")
                return (self.alpha * losses).mean()

        net, criterion = nn.Linear(4, 3), Weighted()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
            opt.zero_grad()
            criterion(net(x), labels).backward()
            opt.step()
        """,
        "selection-from-itself",
        says=["`self.alpha`", "[3]", "[8]", "leave `self.alpha` as it is."],
    ),
    case(
        "class_weights_of_a_batch_under_a_name_of_their_own",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        net, alpha = nn.Linear(4, 3), torch.tensor([0.1, 0.9, 0.9])
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
            opt.zero_grad()
            picked = alpha.gather(0, labels)
            losses = F.cross_entropy(net(x), labels, reduction="none")
            (picked * losses).mean().backward()
            opt.step()
        """,
    ),
    case(
        "data_in_another_order_in_each_epoch",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net, x, y = nn.Linear(4, 1), torch.randn(8, 4), torch.randn(8, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            order = torch.randperm(8)
            x = x[order]
            y = y[order]
            opt.zero_grad()
            (net(x) - y).square().mean().backward()
            opt.step()
        """,
    ),
    case(
        "hard_samples_kept_from_epoch_to_epoch",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net, x, y = nn.Linear(4, 1), torch.randn(32, 4), torch.randn(32, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            losses = (net(x) - y).square().mean(1)
            opt.zero_grad()
            losses.mean().backward()
            opt.step()
            hard = losses.detach().topk(len(x) // 2).indices
            x, y = x[hard], y[hard]
        """,
    ),
]
