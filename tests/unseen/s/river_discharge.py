"""Samples the posterior of a rating curve for river discharge with stochastic gradient Langevin dynamics.

TRUTH: the chain keeps the same position tensor again and again, and each step changes it in place, so all draws equal the last one and the spread is 0; store a clone of it.
"""
import math
from dataclasses import dataclass

import torch


@dataclass
class Gauging:
    stage: torch.Tensor
    discharge: torch.Tensor

    def design(self):
        s = self.stage
        return torch.stack([torch.ones_like(s), s, s.square(), torch.sin(3 * s)], dim=1)


class RatingPosterior:
    def __init__(self, gauging, noise=0.3, prior=2.0):
        self.x = gauging.design()
        self.y = gauging.discharge
        self.noise, self.prior = noise, prior

    def energy(self, theta):
        fit = (self.y - self.x @ theta).square().sum() / (2 * self.noise ** 2)
        return fit + theta.square().sum() / (2 * self.prior ** 2)


class Chain:
    def __init__(self, thin=1):
        self.thin = thin
        self.draws = []
        self.calls = 0

    def __call__(self, position, energy):
        if self.calls % self.thin == 0:
            self.draws.append(position.detach())  # CULPRIT
        self.calls += 1

    def summary(self):
        stacked = torch.stack(self.draws)
        return stacked.mean(0), stacked.std(0)


class Langevin:
    def __init__(self, posterior, size, step, seed):
        self.posterior = posterior
        self.position = torch.zeros(size, requires_grad=True)
        self.step = step
        self.rng = torch.Generator().manual_seed(seed)

    def advance(self):
        energy = self.posterior.energy(self.position)
        (slope,) = torch.autograd.grad(energy, self.position)
        kick = torch.randn(self.position.shape, generator=self.rng)
        with torch.no_grad():
            self.position.add_(slope, alpha=-self.step).add_(kick, alpha=math.sqrt(2 * self.step))
        return energy.item()

    def run(self, steps, warmup, callback):
        for step in range(warmup + steps):
            energy = self.advance()
            if step >= warmup:
                callback(self.position, energy)
            if step % 200 == 0:
                print(f"step {step:4d}  energy {energy:.2f}")


def main():
    rng = torch.Generator().manual_seed(17)
    stage = torch.rand(80, generator=rng) * 2 - 1
    gauging = Gauging(stage, torch.zeros(80))
    truth = torch.tensor([1.0, 2.0, -0.5, 0.3])
    gauging.discharge = gauging.design() @ truth + 0.3 * torch.randn(80, generator=rng)

    sampler = Langevin(RatingPosterior(gauging), size=4, step=5e-4, seed=23)
    chain = Chain(thin=5)
    sampler.run(steps=1500, warmup=300, callback=chain)
    mean, spread = chain.summary()
    for name, m, s in zip(["offset", "linear", "square", "wave"], mean.tolist(), spread.tolist()):
        print(f"{name:7s} {m:+.3f} +- {s:.3f}")


if __name__ == "__main__":
    main()
