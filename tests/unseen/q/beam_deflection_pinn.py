"""Learns the deflection of a loaded cantilever beam from its differential equation, and reports the bending moment.

TRUTH: Trainer runs its validation under torch.inference_mode by default (inference_mode=True, which main() leaves as it is), but
the quantity to validate, the bending moment EI*w'', is itself obtained with torch.autograd.grad inside the model's output
function. Training works; at the first validation the network's output carries no graph and autograd.grad raises "element 0 of
tensors does not require grad and does not have a grad_fn". Fix: build the trainer with inference_mode=False (or evaluate under
torch.enable_grad / without the context). Drawn from https://github.com/rezaakb/pinns-torch/issues/12.
"""
import argparse
import logging
import math
import time

import torch
import torch.nn as nn

log = logging.getLogger("beam")


class BeamNet(nn.Module):
    """w(x) with w(0) = 0 and w'(0) = 0 built in by the factor x^2."""

    def __init__(self, width=32, depth=3):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers += [nn.Linear(width, 1)]
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return x ** 2 * self.body(2 * x - 1)


def derivative(y, x, order=1):
    for _ in range(order):
        y = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]
    return y


class BeamProblem:
    """EI w'''' = q on [0, 1], free end at x = 1, uniform load."""

    def __init__(self, net, load=8.0, stiffness=1.0):
        self.net = net
        self.load, self.stiffness = load, stiffness

    def outputs(self, x):
        x = x.clone().requires_grad_(True)
        w = self.net(x)
        moment = self.stiffness * derivative(w, x, 2)
        return x, w, moment

    def training_loss(self, x):
        x, w, moment = self.outputs(x)
        residual = derivative(moment, x, 2) - self.load
        end, _, end_moment = self.outputs(torch.ones(1, 1))
        end_shear = derivative(end_moment, end)
        return (residual ** 2).mean() + 10 * (end_moment ** 2).mean() + 10 * (end_shear ** 2).mean()

    def validation_error(self, x):
        _, w, moment = self.outputs(x)
        w_true = self.load * x ** 2 * (6 - 4 * x + x ** 2) / (24 * self.stiffness)
        m_true = self.load * (1 - x) ** 2 / 2
        return (w - w_true).abs().max().item(), (moment - m_true).abs().max().item()


class Trainer:
    def __init__(self, problem, lr, steps, inference_mode=True):  # CULPRIT
        self.problem = problem
        self.steps = steps
        self.inference_mode = inference_mode
        self.opt = torch.optim.Adam(problem.net.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, steps, eta_min=lr / 50)
        self.history = []

    def eval_context(self):
        return torch.inference_mode() if self.inference_mode else torch.enable_grad()

    def validate(self):
        self.problem.net.eval()
        grid = torch.linspace(0, 1, 41)[:, None]
        with self.eval_context():
            errors = self.problem.validation_error(grid)
        self.problem.net.train()
        return errors

    def fit(self, batch=64, every=200):
        start = time.time()
        for step in range(1, self.steps + 1):
            loss = self.problem.training_loss(torch.rand(batch, 1))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.sched.step()
            self.history.append(loss.item())
            if step % every == 0:
                log.info("step %d loss %.4f (%.1fs)", step, loss.item(), time.time() - start)
                dw, dm = self.validate()
                log.info("        max error: deflection %.4f, moment %.4f", dw, dm)
        return self.history


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)

    problem = BeamProblem(BeamNet())
    trainer = Trainer(problem, args.lr, args.steps)  # CULPRIT
    history = trainer.fit()
    assert not math.isnan(history[-1])
    log.info("final loss %.5f, tip deflection error %.4f", history[-1], trainer.validate()[0])


if __name__ == "__main__":
    main()
