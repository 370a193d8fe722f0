"""Programs in which values leave the graph and come back without it."""

from __future__ import annotations

from tests.rules.harness import Case, case

VALUES: list[Case] = [
    case(
        "copy_construct",
        """
        import torch
        from torch import nn

        scale_net, head = nn.Linear(4, 1), nn.Linear(4, 1)
        opt = torch.optim.SGD([*scale_net.parameters(), *head.parameters()], lr=0.1)
        x = torch.randn(6, 4)
        for step in range(2):
            raw = torch.sigmoid(scale_net(x))
            scale = torch.tensor(raw)  # CULPRIT
            loss = (scale * head(x)).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "tensor-copy-construct",
    ),
    case(
        "loss_list_made_a_tensor",
        """
        import torch
        from torch import nn

        nets = nn.ModuleList([nn.Linear(2, 1) for _ in range(3)])
        losses = []
        for net in nets:
            losses.append(net(torch.randn(4, 2)).pow(2).mean())
        total = torch.tensor(losses).sum()  # CULPRIT
        total.backward()
        """,
        "tensor-copy-construct",
    ),
    case(
        "items_collected_in_a_loop",
        """
        import torch
        from torch import nn

        policy, baseline = nn.Linear(3, 2), nn.Linear(3, 1)
        opt = torch.optim.Adam([*policy.parameters(), *baseline.parameters()])
        for episode in range(2):
            log_probs, values = [], []
            for t in range(4):
                state = torch.randn(3)
                logp = torch.log_softmax(policy(state), 0)[t % 2]
                log_probs.append(logp.item())  # CULPRIT
                values.append(baseline(state))
            stacked = torch.tensor(log_probs)
            loss = -(stacked * torch.cat(values)).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "stack-of-items",
        related=["comes back as a constant"],
    ),
    case(
        "item_scales_the_loss",
        """
        import torch

        w = torch.tensor([1.5], requires_grad=True)
        scale = torch.tensor([0.7], requires_grad=True)
        factor = (scale * 3).exp().item()  # CULPRIT
        loss = (w * factor).pow(2).sum()
        loss.backward()
        """,
        "stack-of-items",
    ),
    case(
        "through_numpy_and_back",
        """
        import numpy as np
        import torch
        from torch import nn

        encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)

        def features(x):
            hidden = encoder(x)
            array = hidden.detach().numpy()  # CULPRIT
            array = np.maximum(array, 0.0) ** 2
            return torch.from_numpy(array)

        opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            out = head(features(torch.randn(3, 4)))
            opt.zero_grad()
            out.pow(2).mean().backward()
            opt.step()
        """,
        "numpy-roundtrip",
        related=["comes back as a constant"],
    ),
    case(
        "hard_gate",
        """
        import torch
        from torch import nn

        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = nn.Linear(4, 1)
                self.value = nn.Linear(4, 1)

            def forward(self, x):
                score = torch.sigmoid(self.gate(x))
                mask = (score > 0.5).float()  # CULPRIT
                return mask * self.value(x)

        net = Gated()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            loss = (net(torch.randn(5, 4)) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "threshold-cuts-gradient",
        says=["gate.weight"],
    ),
    case(
        "learned_threshold",
        """
        import torch

        x = torch.linspace(-1, 1, 8)
        threshold = torch.tensor(0.1, requires_grad=True)
        gain = torch.tensor(2.0, requires_grad=True)
        kept = torch.where(x > threshold, x, torch.zeros(8))  # CULPRIT
        loss = (gain * kept).sum()
        loss.backward()
        print(threshold.grad)
        """,
        "threshold-cuts-gradient",
    ),
    case(
        "learned_position_as_index",
        """
        import torch
        from torch import nn

        class Lookup(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Parameter(torch.randn(10))
                self.position = nn.Parameter(torch.tensor([2.6, 4.1]))

            def forward(self):
                index = self.position.long()  # CULPRIT
                return self.table[index]

        net = Lookup()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net().pow(2).sum().backward()
            opt.step()
        """,
        "learnable-index",
        says=["position"],
    ),
    case(
        "sign_of_a_layer",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        head = nn.Linear(8, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            code = torch.sign(net(torch.randn(5, 4)))  # CULPRIT
            loss = head(code).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "round-zero-gradient",
        says=["0.weight"],
    ),
    case(
        "plot_of_a_prediction",
        """
        import torch
        from torch import nn

        net = nn.Linear(2, 1)

        def curve(x):
            y = net(x)
            return y.squeeze(1).numpy()  # CULPRIT

        curve(torch.randn(5, 2))
        """,
        "numpy-on-requires-grad",
    ),
    case(
        "penalty_without_create_graph",
        """
        import torch
        from torch import nn

        critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(critic.parameters())

        def gradient_penalty(real, fake):
            mix = torch.rand(real.shape[0], 1)
            x = (mix * real + (1 - mix) * fake).requires_grad_(True)
            score = critic(x)
            grads = torch.autograd.grad(  # CULPRIT
                score.sum(), x, retain_graph=True
            )[0]
            return ((grads.norm(2, dim=1) - 1) ** 2).mean()

        for step in range(2):
            real, fake = torch.randn(4, 3), torch.randn(4, 3)
            loss = critic(fake).mean() - critic(real).mean()
            loss = loss + 10 * gradient_penalty(real, fake)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
        related=["a constant term"],
    ),
    case(
        "sampled_latent",
        """
        import torch
        from torch import nn

        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        for step in range(2):
            x = torch.randn(5, 4)
            z = torch.distributions.Normal(encoder(x), 1.0).sample()  # CULPRIT
            loss = (decoder(z) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "sample-cuts-gradient",
        says=["bias"],
    ),
    case(
        "checkpoint_behind_frozen_embeddings",
        """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        embed, adapter, head = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        embed.requires_grad_(False)
        opt = torch.optim.SGD([*adapter.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            hidden = embed(torch.tensor([1, 2, 3]))
            hidden = checkpoint(adapter, hidden, use_reentrant=True)  # CULPRIT
            loss = head(hidden).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "checkpoint-without-grad-input",
    ),
    case(
        "nothing_asked_for_a_gradient",
        """
        import torch

        x = torch.arange(4.0)
        w = torch.ones(4)  # CULPRIT
        loss = (w * x).sum()
        loss.backward()
        """,
        "nothing-requires-grad",
    ),
    case(
        "loss_computed_by_numpy",
        """
        import numpy as np
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.randn(8, 1)

        def error(out, target):
            gap = out.detach().numpy() - target.numpy()  # CULPRIT
            return torch.tensor(np.sqrt((gap**2).mean()), requires_grad=True)

        for step in range(2):
            opt.zero_grad()
            error(net(x), y).backward()
            opt.step()
        """,
        "requires-grad-on-loss-hack",
    ),
]
