# kind: custom_fn_refused
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(39)


class FakeQuant(torch.autograd.Function):
    """Rounds to 2**bits levels going forward, passes gradients straight through going back."""

    @staticmethod
    def forward(ctx, w, bits, symmetric):
        levels = 2 ** (bits - 1) - 1
        peak = w.abs().amax().clamp(min=1e-8)
        lo = -levels if symmetric else -levels - 1
        ctx.save_for_backward((w / peak * levels) >= lo)
        return torch.clamp(torch.round(w / peak * levels), lo, levels) * peak / levels

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad * inside, None, None


class QuantLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits):
        super().__init__(n_in, n_out)
        self.bits = bits

    def forward(self, x):
        return F.linear(x, FakeQuant.apply(self.weight, self.bits, True), self.bias)


class Controller(nn.Module):
    """A small policy for a microcontroller: state in, force out."""

    def __init__(self, bits=6, width=32):
        super().__init__()
        self.inner = QuantLinear(2, width, bits)
        self.outer = QuantLinear(width, 1, bits)

    def forward(self, state):
        return 3 * torch.tanh(self.outer(torch.relu(self.inner(state))))


class MassOnSpring:
    dt, stiffness, friction = 0.1, 0.6, 0.05

    def step(self, state, force):
        pos, vel = state.split(1, dim=1)
        acc = force - self.stiffness * pos - self.friction * vel
        vel = vel + self.dt * acc
        return torch.cat([pos + self.dt * vel, vel], dim=1)

    def cost(self, state, force):
        return (state.pow(2).sum(1) + 0.05 * force.squeeze(1).pow(2)).mean()


def rollout(controller, plant, state, horizon=15):
    total = state.new_zeros(())
    for _ in range(horizon):
        force = controller(state)
        state = plant.step(state, force)
        total = total + plant.cost(state, force)
    return total / horizon


def main(steps=60):
    plant, controller = MassOnSpring(), Controller()
    opt = torch.optim.Adam(controller.parameters(), lr=5e-3)
    for step in range(1, steps + 1):
        loss = rollout(controller, plant, torch.empty(64, 2).uniform_(-1.5, 1.5))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(controller.parameters(), 1.0)
        opt.step()
        if step % 12 == 0:
            print(f"step {step} cost {loss.item():.4f}")


main()
