"""Classifies ultrasonic traces of welds and reports, while it trains, which part of a trace the loss hangs on.

TRUTH: Saliency asks for the gradient of the loss with regard to the traces at the stage "after_backward", when backward has already freed the graph, so autograd raises; look at the stage before backward (its grad call keeps the graph).
"""
from dataclasses import dataclass, field

import torch
from torch import nn

STAGES = ("before_forward", "after_forward", "after_backward", "after_step")


@dataclass
class StepState:
    step: int
    traces: torch.Tensor
    labels: torch.Tensor
    loss: torch.Tensor = None


class Observer:
    stage = "after_step"
    every = 1

    def observe(self, state):
        raise NotImplementedError


class LossPrinter(Observer):
    every = 10

    def observe(self, state):
        print(f"step {state.step:3d}  loss {state.loss.item():.4f}")


class Saliency(Observer):
    """Mean size of the gradient in each quarter of the trace."""

    stage = "after_backward"  # CULPRIT
    every = 10

    def observe(self, state):
        (slope,) = torch.autograd.grad(state.loss, state.traces, retain_graph=True)
        quarters = slope.abs().mean(0).chunk(4)
        print("          quarters", " ".join(f"{q.mean().item():.2e}" for q in quarters))


class Welds:
    """Noise, and an echo in the third quarter when there is a flaw."""

    def __init__(self, seed, length=32):
        self.rng = torch.Generator().manual_seed(seed)
        self.length = length

    def draw(self, count):
        labels = torch.randint(0, 2, (count,), generator=self.rng)
        place = torch.arange(self.length).float()
        centre = 17 + 6 * torch.rand(count, 1, generator=self.rng)
        echo = 2.0 * torch.exp(-(place - centre) ** 2 / 4) * labels[:, None]
        return echo + 0.5 * torch.randn(count, self.length, generator=self.rng), labels


@dataclass
class Training:
    model: nn.Module
    source: Welds
    lr: float = 3e-3
    observers: list = field(default_factory=list)

    def notify(self, stage, state):
        assert stage in STAGES
        for observer in self.observers:
            if observer.stage == stage and state.step % observer.every == 0:
                observer.observe(state)

    def run(self, steps, batch=48):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)
        for step in range(steps):
            traces, labels = self.source.draw(batch)
            state = StepState(step, traces.requires_grad_(), labels)
            self.notify("before_forward", state)
            state.loss = nn.functional.cross_entropy(self.model(state.traces), labels)
            self.notify("after_forward", state)
            optimizer.zero_grad()
            state.loss.backward(inputs=list(self.model.parameters()))
            self.notify("after_backward", state)
            optimizer.step()
            self.notify("after_step", state)


def main():
    torch.manual_seed(27)
    model = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 2))
    Training(model, Welds(seed=8), observers=[Saliency(), LossPrinter()]).run(steps=41)


if __name__ == "__main__":
    main()
