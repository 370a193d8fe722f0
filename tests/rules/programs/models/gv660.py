"""GV660: loss-of-itself."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "target_is_the_prediction",
        script("""
for state, _ in batches:
    q = net(state)
    target = q
    target[0, 1] = 1.0  # CULPRIT
    loss = F.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""),
        "loss-of-itself",
        says=["`q.detach().clone()`"],
    ),
    case(
        "target_is_a_detached_view",
        script("""
for state, _ in batches:
    q = net(state)
    target = q.detach()
    target[0, 1] = 1.0  # CULPRIT
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""),
        "loss-of-itself",
        related=("made an alias here",),
    ),
    case(
        "proximal_term_of_a_list_of_the_same_parameters",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def make():
            return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))

        def train_client(model, batches, mu=0.1):
            anchor = [p for p in model.parameters()]  # CULPRIT
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in batches:
                loss = F.cross_entropy(model(x), y)
                pull = sum(
                    (p - a).pow(2).sum() for p, a in zip(model.parameters(), anchor)
                )
                optimizer.zero_grad()
                (loss + 0.5 * mu * pull).backward()
                optimizer.step()
            return loss.item()

        torch.manual_seed(0)
        server = make()
        for turn in range(2):
            client = make()
            client.load_state_dict(server.state_dict())
            batches = [(torch.randn(6, 5), torch.randint(0, 2, (6,))) for _ in range(3)]
            print(turn, train_client(client, batches))
        """,
        "loss-of-itself",
        says=["of each tensor"],
        related=("subtracted here",),
    ),
    case(
        "commitment_to_what_the_estimator_gave",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Quantizer(nn.Module):
            def __init__(self, codes=8, width=4):
                super().__init__()
                self.book = nn.Embedding(codes, width)

            def forward(self, z):
                nearest = torch.cdist(z, self.book.weight).argmin(dim=1)
                code = self.book(nearest)
                passed = z + (code - z).detach()
                book_loss = F.mse_loss(code, z.detach())
                commitment = F.mse_loss(z, passed)  # CULPRIT
                return passed, book_loss + 0.25 * commitment

        torch.manual_seed(0)
        encoder, decoder, quantizer = nn.Linear(6, 4), nn.Linear(4, 6), Quantizer()
        parts = nn.ModuleList([encoder, quantizer, decoder])
        optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
        for step in range(4):
            x = torch.randn(12, 6)
            passed, extra = quantizer(encoder(x))
            loss = F.mse_loss(decoder(passed), x) + extra
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
        "loss-of-itself",
        says=("the derivatives of both sides are equal",),
    ),
    case(
        "old_probabilities_are_computed_again",
        """
        import torch
        from torch import nn
        from torch.distributions import Categorical
        torch.manual_seed(0)
        policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        opt = torch.optim.Adam(policy.parameters())
        def ratio(seen, action):
            new = Categorical(logits=policy(seen)).log_prob(action)
            old = Categorical(logits=policy(seen)).log_prob(action)  # CULPRIT
            return (new - old).exp()
        for _ in range(3):
            seen, gain = torch.randn(6, 4), torch.randn(6)
            action = torch.randint(0, 3, (6,))
            opt.zero_grad()
            (-ratio(seen, action) * gain).mean().backward()
            opt.step()
        """,
        "loss-of-itself",
        says=["the second time in line"],
    ),
    case(
        "two_passes_with_dropout_are_compared",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
            one, other = net(x), net(x)
            loss = nn.functional.cross_entropy(one, y)
            loss = loss + (one - other).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "anchors_move_with_the_weights",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        anchors = {}
        def keep():
            for name, p in net.named_parameters():
                anchors[name] = p.detach()  # CULPRIT
        def penalty():
            named = dict(net.named_parameters())
            return sum((named[n] - old).square().sum() for n, old in anchors.items())
        keep()
        for _ in range(4):
            loss = net(torch.randn(6, 4)).square().mean() + penalty()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loss-of-itself",
        says=["kept is no copy"],
    ),
    case(
        "ratio_to_probabilities_of_now",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(5, 3)
        for _ in range(3):
            new = torch.log_softmax(net(x), dim=1)[:, 0]
            old = torch.log_softmax(net(x), dim=1)[:, 0].detach()  # CULPRIT
            loss = -torch.exp(new - old).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loss-of-itself",
        says=["nothing is kept from before"],
    ),
    case(
        "ratio_to_probabilities_of_before",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(5, 3)
        old = torch.log_softmax(net(x), dim=1)[:, 0].detach()
        for _ in range(3):
            new = torch.log_softmax(net(x), dim=1)[:, 0]
            loss = (torch.exp(new - old) * torch.exp(new - new.detach())).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
