"""Several products from satellite radiances: cloud fraction, rain rate and net radiation flux.

TRUTH: The flux is standardised (about -2.5 to 2.5), but its head ends in a sigmoid, which gives 0 to 1 only: negative
and large fluxes are out of reach and the error cannot fall below a high floor. Give this head no activation.
"""
from dataclasses import dataclass
from typing import Callable, Dict, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LINKS: Dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda t: t,
    "sigmoid": torch.sigmoid,
    "softplus": F.softplus,
}


@dataclass(frozen=True)
class Product:
    link: str
    loss: Callable[[Tensor, Tensor], Tensor]
    weight: float = 1.0


PRODUCTS = {
    "cloud": Product("sigmoid", F.l1_loss),
    "rain": Product("softplus", F.mse_loss, weight=0.5),
    "flux": Product("sigmoid", F.mse_loss),  # CULPRIT
}


class Standard:
    """Mean and spread of a variable, from training data."""

    def __init__(self, values: Tensor):
        self.mean, self.std = values.mean(), values.std()

    def __call__(self, values: Tensor) -> Tensor:
        return (values - self.mean) / self.std

    def undo(self, z: Tensor) -> Tensor:
        return z * self.std + self.mean


class Retrieval(nn.Module):
    def __init__(self, channels: int, products: Dict[str, Product], width: int = 48):
        super().__init__()
        self.products = products
        self.stem = nn.Sequential(nn.Linear(channels, width), nn.GELU(), nn.LayerNorm(width))
        self.body = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.heads = nn.ModuleDict({k: nn.Linear(width, 1) for k in products})

    def forward(self, radiance: Tensor) -> Dict[str, Tensor]:
        h = self.stem(radiance)
        h = h + self.body(h)
        return {k: LINKS[p.link](self.heads[k](h).squeeze(-1)) for k, p in self.products.items()}


def pixels(n: int, gen) -> Tuple[Tensor, Dict[str, Tensor]]:
    state = torch.randn(n, 3, generator=gen)
    mix = torch.randn(3, 10, generator=torch.Generator().manual_seed(5))
    radiance = torch.tanh(state @ mix / 1.5) + 0.05 * torch.randn(n, 10, generator=gen)
    cloud = torch.sigmoid(2 * state[:, 0])
    rain = F.relu(state[:, 1] - 0.3) * cloud
    flux = 240.0 - 90.0 * cloud + 60.0 * state[:, 2]
    return radiance, {"cloud": cloud, "rain": rain, "flux": flux}


def weighted(products, outputs, targets):
    parts = {k: p.loss(outputs[k], targets[k]) for k, p in products.items()}
    return sum(products[k].weight * v for k, v in parts.items()), parts


def main():
    torch.manual_seed(61)
    gen = torch.Generator().manual_seed(61)
    x, y = pixels(5000, gen)
    x_held, y_held = pixels(1000, gen)
    scale = Standard(y["flux"])
    y["flux"] = scale(y["flux"])
    model = Retrieval(x.shape[1], PRODUCTS)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=400)
    for step in range(400):
        idx = torch.randint(len(x), (128,), generator=gen)
        loss, parts = weighted(PRODUCTS, model(x[idx]), {k: v[idx] for k, v in y.items()})
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 80 == 0:
            print(f"step {step:3d}  " + "  ".join(f"{k} {v.item():.4f}" for k, v in parts.items()))
    model.eval()
    with torch.no_grad():
        out = model(x_held)
    flux = scale.undo(out["flux"])
    print(f"held out: flux RMSE {(flux - y_held['flux']).square().mean().sqrt().item():.1f} W/m2")
    print(f"held out: cloud MAE {(out['cloud'] - y_held['cloud']).abs().mean().item():.3f}")


if __name__ == "__main__":
    main()
