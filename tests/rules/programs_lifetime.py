"""Programs with one graph and two passes over it."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- one graph, two passes -------------------------------------------------------
    case(
        "twice_in_a_row",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        loss = net(torch.ones(2, 3)).pow(2).mean()
        loss.backward()  # CULPRIT
        print(net.weight.grad)
        loss.backward()
        """,
        "backward-twice",
        says=["`loss`"],
        related=["second pass"],
    ),
    case(
        "twice_through_a_helper",
        """
        import torch
        class Trainer:
            def __init__(self, net):
                self.net = net
            def backward(self, loss):
                loss.backward()
        trainer = Trainer(torch.nn.Linear(3, 1))
        loss = trainer.net(torch.ones(2, 3)).exp().sum()
        trainer.backward(loss)  # CULPRIT
        norm = trainer.net.weight.grad.norm()
        trainer.backward(loss)
        """,
        "backward-twice",
    ),
    case(
        "grad_then_backward",
        """
        import torch
        x = torch.randn(4, requires_grad=True)
        w = torch.randn(4, requires_grad=True)
        loss = (w * x).sin().sum()
        (gx,) = torch.autograd.grad(loss, x)  # CULPRIT
        print(gx.norm())
        loss.backward()
        """,
        "backward-twice",
    ),
    case(
        "sum_of_losses_after_each",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        total = 0
        for step in range(3):
            loss = net(torch.ones(1, 2)).pow(2).sum()
            loss.backward()  # CULPRIT
            total = total + loss
        total.backward()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "two_heads",
        """
        import torch
        import torch.nn as nn
        class TwoHeads(nn.Module):
            def __init__(self):
                super().__init__()
                self.trunk = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
                self.a, self.b = nn.Linear(8, 1), nn.Linear(8, 3)
            def forward(self, x):
                h = self.trunk(x)
                return self.a(h), self.b(h)
        net = TwoHeads()
        a, b = net(torch.randn(5, 4))
        loss_a = a.pow(2).mean()
        loss_b = b.abs().mean()
        loss_a.backward()  # CULPRIT
        loss_b.backward()
        """,
        "shared-trunk-two-backwards",
        says=["`loss_a`", "`loss_b`"],
    ),
    case(
        "second_head_later",
        """
        import torch
        w = torch.randn(3, requires_grad=True)
        features = w.exp()
        first = features.sum()
        first.backward()  # CULPRIT
        w.grad = None
        second = (features * 2).pow(2).sum()
        second.backward()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "one_encoder_for_pairs",
        """
        import torch
        import torch.nn as nn
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 3)
            def forward(self, x):
                return torch.tanh(self.fc(x))
        encoder = Encoder()
        anchor = encoder(torch.randn(1, 2))
        near = encoder(torch.randn(1, 2))
        pull = (anchor - near).pow(2).sum()
        pull.backward()  # CULPRIT
        far = encoder(torch.randn(1, 2))
        push = -(anchor - far).pow(2).sum()
        push.backward()
        """,
        "shared-trunk-two-backwards",
        says=["`pull`", "`push`"],
    ),
    case(
        "list_of_losses",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid())
        out = net(torch.randn(4, 3))
        losses = [out[:, i].mean() for i in range(3)]
        for loss in losses:
            loss.backward()  # CULPRIT
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "fake_that_is_not_for_the_discriminator",
        """
        import torch
        from torch import nn
        gen, disc = nn.Linear(3, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        for _ in range(2):
            noise = torch.randn(4, 3)
            fake = torch.tanh(gen(noise))
            g_loss = (disc(fake) - 1).pow(2).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
            d_loss = disc(fake).pow(2).mean() - disc(noise).mean()  # CULPRIT
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
        """,
        "shared-trunk-two-backwards",
        says=["`fake.detach()`"],
    ),
]

FINE = [
    case(
        "retained_for_two_losses",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            out = net(torch.randn(2, 3))
            optimizer.zero_grad()
            out.mean().backward(retain_graph=True)
            out.pow(2).mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "gan_with_detach",
        """
        import torch
        import torch.nn as nn
        generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.Adam(generator.parameters())
        opt_c = torch.optim.Adam(critic.parameters())
        for step in range(3):
            fake = generator(torch.randn(4, 2))
            loss_c = critic(fake.detach()).mean() - critic(torch.randn(4, 3)).mean()
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            loss_g = -critic(fake).mean()
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()
        """,
    ),
    case(
        "forward_again_for_each_pass",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        x = torch.ones(3, 2)
        for k in range(3):
            loss = net(x).pow(2).mean()
            loss.backward()
        """,
    ),
]
