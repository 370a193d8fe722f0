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
        says=["no sample has its own weight"],
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
]
