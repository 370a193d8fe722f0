"""GV685: batch-result-in-each-sample."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "divergence_of_the_batch_in_each_sample",
        """
        import torch
        from torch import nn
        encoder, decoder = nn.Linear(4, 6), nn.Linear(3, 4)
        x = torch.randn(8, 4)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        error = (decoder(z) - x).square().sum(1)
        kl = -0.5 * torch.sum(1 + logvar - mu.square() - logvar.exp())  # CULPRIT
        (error + kl).mean().backward()
        """,
        "batch-result-in-each-sample",
        says=["all 8 samples"],
    ),
    case(
        "pythons_sum_of_one_value_per_sample",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 2)
        x = torch.randn(8, 4)
        log_p, log_det = net(x).unbind(1)
        bound = log_p.square() - sum(log_det.square())  # CULPRIT
        bound.mean().backward()
        """,
        "batch-result-in-each-sample",
    ),
    case(
        "shares_of_a_sum_and_sums_of_weights",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 2)
        x = torch.randn(8, 4)
        score, value = net(x).unbind(1)
        share = score.exp() / score.exp().sum()
        reach = (net.weight[0] * net.weight[1]).sum()
        loss = (share * value).sum() + (value.square() + reach).mean()
        (loss + (net(x).square().sum(1) * score.detach().sum()).mean()).backward()
        """,
    ),
    case(
        "weights_of_samples_and_a_mean_loss",
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        net = nn.Linear(4, 2)
        x, y, weights = torch.randn(8, 4), torch.randint(2, (8,)), torch.rand(8)
        loss = F.cross_entropy(net(x), y)  # CULPRIT
        (loss * weights).mean().backward()
        """,
        "batch-result-in-each-sample",
        says=["`weights` cannot favour one sample"],
    ),
    case(
        "weights_of_samples_that_meet_their_losses",
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        net = nn.Linear(4, 2)
        x, y, weights = torch.randn(8, 4), torch.randint(2, (8,)), torch.rand(8)
        loss = F.cross_entropy(net(x), y, reduction="none")
        noise = net(x).abs().mean() * torch.randn(8)
        ((loss * weights).mean() + (net(x)[:, 0] + noise).square().mean()).backward()
        """,
    ),
    case(
        "a_summary_of_each_set_taken_over_the_batch",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.local, self.context = nn.Linear(3, 3), nn.Linear(3, 3)
            def forward(self, x):
                pooled = x.sum(dim=0) / len(x)  # CULPRIT
                return self.local(x) + self.context(pooled).relu()
        net = nn.Sequential(Block(), nn.Tanh())
        for (x,) in DataLoader(TensorDataset(torch.randn(8, 5, 3)), batch_size=4):
            net(x).square().mean().backward()
        """,
        "batch-result-in-each-sample",
        says=["all 4 samples of the batch", "`dim=1`"],
    ),
    case(
        "summaries_of_sets_and_statistics_of_batches",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, Dataset
        class Sets(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, i):
                return torch.stack([torch.randn(4, 3) + k for k in range(5)])
        local, context, wide = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(6, 2)
        for x in DataLoader(Sets(), batch_size=4):
            x = (x - x.mean(0)) / x.std(0)
            x = local(x) + context(x.mean(dim=1, keepdim=True))
            rows = x.flatten(1).unfold(1, 3, 3).mean(1)
            rows = torch.cat([rows, context(rows.mean(0)).expand_as(rows)], dim=1)
            wide(rows).square().mean().backward()
        for x in DataLoader(Sets(), batch_size=None):
            (local(x) + context(x.mean(0))).square().mean().backward()
        """,
    ),
    case(
        "channel_weights_pooled_over_the_batch",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        conv, gate = nn.Conv2d(1, 4, 3), nn.Linear(4, 4)
        for (x,) in DataLoader(TensorDataset(torch.randn(8, 1, 6, 6)), batch_size=4):
            h = conv(x)
            weights = gate(h.mean((0, 2, 3))).sigmoid()  # CULPRIT
            (h * weights[:, None, None]).square().mean().backward()
        """,
        "batch-result-in-each-sample",
        says=["`dim=(2, 3)`"],
    ),
    case(
        "batch_normalisation_by_hand",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        conv, gate = nn.Conv2d(1, 4, 3), nn.Linear(4, 4)
        scale, shift = (torch.randn(4, requires_grad=True) for _ in range(2))
        for (x,) in DataLoader(TensorDataset(torch.randn(8, 1, 6, 6)), batch_size=4):
            h = conv(x)
            mean, var = h.mean((0, 2, 3)), h.var((0, 2, 3))
            factor = scale / (var + 1e-5).sqrt()
            offset = shift - mean * factor
            h = h * factor[:, None, None] + offset[:, None, None]
            h = h * gate(h.mean((2, 3))).sigmoid()[..., None, None]
            h.square().mean().backward()
        """,
    ),
    case(
        "mean_that_is_told_weighed_by_returns",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            policy = torch.distributions.Categorical(logits=net(torch.randn(8, 3)))
            log_probs = policy.log_prob(policy.sample())
            mean = log_probs.mean()
            returns = torch.randn(8)
            loss = -torch.sum(mean * returns)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(mean.item())
        """,
        "batch-result-in-each-sample",
        says=["`loss = -torch.sum(log_probs * returns)`"],
        related=["mean taken here"],
    ),
]
