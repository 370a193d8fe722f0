"""GV693: logarithm-taken-for-scale."""

from __future__ import annotations

from tests.rules.harness import Case, case

_VAE = """
import torch
from torch import nn
torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 4), nn.Linear(2, 4)
x = torch.randn(8, 4)
mu, logvar = encoder(x).chunk(2, dim=1)
z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
VARIANCE
kl = 0.5 * (mu.square() + variance - LOGARITHM - 1).sum(1).mean()
((decoder(z) - x).square().sum(1).mean() + kl).backward()
"""

_FLOW = """
import math
import torch
from torch import nn

class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip, self.net = flip, nn.Linear(2, 4)

    def forward(self, x):
        kept, moved = x.flip(1).chunk(2, 1) if self.flip else x.chunk(2, 1)
        log_scale, shift = self.net(kept).tanh().chunk(2, dim=1)
        SCALED
        return torch.cat([kept, moved], 1), log_scale.sum(1)

flow = nn.ModuleList(Coupling(k % 2) for k in range(3))
opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
PRIOR
for _ in range(3):
    z, logdet = torch.randn(16, 4) * 2 + 1, 0.0
    for part in flow:
        z, more = part(z)
        logdet = logdet + more
    loss = -(DENSITY + logdet).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
_WRITTEN = "-0.5 * z.pow(2).sum(1) - 2 * math.log(2 * math.pi)"
_NORMAL = "normal.log_prob(z).sum(-1)"


def _flow(scaled: str, density: str = _WRITTEN) -> str:
    prior = "normal = torch.distributions.Normal(0.0, 1.0)"
    text = _FLOW.replace("SCALED", scaled).replace("DENSITY", density)
    return text.replace("PRIOR", prior if density == _NORMAL else "")


_SPREAD = """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

        def misfit(x, y):
            mean, raw = net(x).chunk(2, dim=1)
            spread = F.softplus(raw) + 0.01
            error = (y - mean) / spread
            ADDED
            return (0.5 * error.square().sum(1) + volume).mean()

        x = torch.randn(16, 3)
        y = x.sum(1, keepdim=True) + torch.randn(16, 1)
        for _ in range(3):
            optimizer.zero_grad()
            misfit(x, y).backward()
            optimizer.step()
        """


PROGRAMS: list[Case] = [
    case(
        "logarithm_of_a_variance_that_is_squared",
        _VAE.replace("VARIANCE", "variance = logvar**2  # CULPRIT").replace(
            "LOGARITHM", "torch.log(variance + 1e-20)"
        ),
        "logarithm-taken-for-scale",
        says=["torch.exp(0.5 * logvar)"],
    ),
    case(
        "logarithm_of_a_variance",
        _VAE.replace("VARIANCE", "variance = logvar.exp()").replace(
            "LOGARITHM", "torch.log(variance + 1e-20)"
        ),
    ),
    case(
        "flow_scaled_by_its_logarithm",
        _flow("moved = moved * log_scale + shift  # CULPRIT"),
        "logarithm-taken-for-scale",
        says=["a factor in", "logarithm of one"],
    ),
    case(
        "flow_scaled_by_its_logarithm_under_a_distribution",
        _flow("moved = shift + log_scale.mul(moved)  # CULPRIT", _NORMAL),
        "logarithm-taken-for-scale",
        engines=("torch",),
    ),
    case("flow_scaled", _flow("moved = moved * log_scale.exp() + shift", _WRITTEN)),
    case(
        "standard_deviation_divided_by_its_logarithm",
        """
        import torch
        from torch import nn
        net, x = nn.Linear(3, 2), torch.randn(32, 3)
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(3):
            mean, log_std = net(x).unbind(1)
            residual = (x.sum(1) - mean) / log_std  # CULPRIT
            loss = (0.5 * residual**2 + log_std).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "logarithm-taken-for-scale",
        says=["`log_std.exp()`"],
    ),
    case(
        "gates_that_cost_and_a_potential",
        """
        import torch
        from torch import nn
        net, x = nn.Linear(3, 3), torch.randn(32, 3)
        opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(3):
            gate = net(x).sigmoid()
            loss = (0.5 * (gate * x - x) ** 2 + 0.1 * gate).mean()
            u = net(x) * x * (1 - x)
            loss = loss + (0.5 * u.diff(dim=1) ** 2).mean() - u.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "positive_spread_added_up_as_its_logarithm",
        _SPREAD.replace("ADDED", "volume = spread.sum(1)  # CULPRIT"),
        "logarithm-taken-for-scale",
        says=["Add up its logarithm"],
    ),
    case(
        "logarithm_of_a_positive_spread",
        _SPREAD.replace("ADDED", "volume = spread.log().sum(1)"),
    ),
]
