# kind: optimizer_given_twice
"""GAN for points on a ring, set up from a dictionary of networks."""
import torch
import torch.nn.functional as F
from torch import nn

CONFIG = {
    "latent": 4,
    "hidden": 48,
    "batch": 128,
    "steps": 240,
    "generator": {"lr": 1e-3, "betas": (0.5, 0.9)},
    "discriminator": {"lr": 2e-3, "betas": (0.5, 0.9)},
}


def ring(n):
    angle = 2 * torch.pi * torch.rand(n)
    points = torch.stack([angle.cos(), angle.sin()], dim=1)
    return 1.5 * points + 0.05 * torch.randn(n, 2)


def perceptron(d_in, hidden, d_out):
    return nn.Sequential(
        nn.Linear(d_in, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, d_out)
    )


def build(config):
    nets = nn.ModuleDict({
        "generator": perceptron(config["latent"], config["hidden"], 2),
        "discriminator": perceptron(2, config["hidden"], 1),
    })
    optimizers = {}
    for name in nets:
        params = nets["generator"].parameters()  # CULPRIT
        optimizers[name] = torch.optim.Adam(params, **config[name])
    return nets, optimizers


class Game:
    def __init__(self, config):
        self.config = config
        self.nets, self.optimizers = build(config)

    def noise(self):
        return torch.randn(self.config["batch"], self.config["latent"])

    def update(self, name, loss):
        self.nets.zero_grad()
        loss.backward()
        self.optimizers[name].step()
        return loss.item()

    def discriminator_loss(self, real):
        d = self.nets["discriminator"]
        with torch.no_grad():
            fake = self.nets["generator"](self.noise())
        return F.softplus(-d(real)).mean() + F.softplus(d(fake)).mean()

    def generator_loss(self):
        fake = self.nets["generator"](self.noise())
        return F.softplus(-self.nets["discriminator"](fake)).mean()

    def play(self):
        for step in range(self.config["steps"]):
            loss_d = self.update("discriminator", self.discriminator_loss(ring(self.config["batch"])))
            loss_g = self.update("generator", self.generator_loss())
            if step % 60 == 0 or step == self.config["steps"] - 1:
                with torch.no_grad():
                    radius = self.nets["generator"](self.noise()).norm(dim=1).mean().item()
                print(f"{step:3d} d {loss_d:.3f} g {loss_g:.3f} mean radius {radius:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Game(CONFIG).play()
