# kind: vanishing_gradient
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid}


@dataclass
class NetConfig:
    width: int = 48
    depth: int = 9
    activation: str = "sigmoid"  # CULPRIT
    gain: float = 1.4


@dataclass
class FitConfig:
    epochs: int = 6
    lr: float = 1e-3
    batch: int = 64


def two_link_arm(n):
    """Joint angles, velocities and accelerations, and the torques that they take."""
    q = torch.empty(n, 2).uniform_(-1.5, 1.5)
    dq = torch.randn(n, 2)
    ddq = torch.randn(n, 2)
    c = torch.cos(q[:, 1])
    m11, m12 = 3 + 2 * c, 1 + c
    h = torch.sin(q[:, 1])
    t1 = m11 * ddq[:, 0] + m12 * ddq[:, 1] - h * dq[:, 1] * (2 * dq[:, 0] + dq[:, 1])
    t2 = m12 * ddq[:, 0] + ddq[:, 1] + h * dq[:, 0] ** 2
    tau = torch.stack([t1, t2], 1)
    return torch.cat([q, dq, ddq], 1), tau / tau.std(0)


class TorqueNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        act = ACTIVATIONS[cfg.activation]
        sizes = [6] + [cfg.width] * cfg.depth
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers += [self.dense(a, b, cfg.gain), act()]
        self.body = nn.Sequential(*layers)
        self.torque = nn.Linear(cfg.width, 2)

    @staticmethod
    def dense(a, b, gain):
        layer = nn.Linear(a, b)
        nn.init.xavier_normal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
        return layer

    def forward(self, x):
        return self.torque(self.body(x))


def gradient_profile(model):
    return [f"{m.weight.grad.norm().item():.1e}" for m in model.modules() if isinstance(m, nn.Linear)]


def fit(net_cfg, cfg):
    torch.manual_seed(0)
    x, y = two_link_arm(1024)
    loader = DataLoader(TensorDataset(x, y), batch_size=cfg.batch, shuffle=True)
    model = TorqueNet(net_cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        total = 0.0
        for xb, yb in loader:
            loss = nn.functional.mse_loss(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} mse {total / len(loader):.4f}", *gradient_profile(model)[::3])


fit(NetConfig(), FitConfig())
