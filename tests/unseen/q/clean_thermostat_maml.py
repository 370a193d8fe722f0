"""Meta-learns a start for a small network so that two gradient steps fit the response curve of a new thermostat.

TRUTH: correct second-order MAML. The fast weights are new tensors made from autograd.grad with create_graph=True, so
the query loss differentiates through the inner steps; functional_call evaluates the network with them and the module's
own parameters only change by the outer optimiser. The per-parameter inner rates are learned too (in log space). The
evaluation adapts with create_graph=False on detached copies because no outer gradient is wanted there.
"""
import argparse
import torch
import torch.nn as nn
from torch.func import functional_call


class Thermostats:
    """A task is a curve a * sin(x + p) + b on [-3, 3]."""

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def task(self, shots):
        a = 0.5 + 2.0 * torch.rand(1, generator=self.g)
        p = 3.0 * torch.rand(1, generator=self.g)
        x = 6 * torch.rand(2 * shots, 1, generator=self.g) - 3
        y = a * torch.sin(x + p)
        return (x[:shots], y[:shots]), (x[shots:], y[shots:])


class Net(nn.Sequential):
    def __init__(self, hidden=40):
        super().__init__(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))


class MetaLearner(nn.Module):
    def __init__(self, net, inner_lr=0.03):
        super().__init__()
        self.net = net
        self.log_rate = nn.ParameterList(
            nn.Parameter(torch.full((), inner_lr).log()) for _ in net.parameters())

    def adapt(self, support, steps, second_order):
        x, y = support
        fast = dict(self.net.named_parameters())
        if not second_order:
            fast = {k: v.detach().clone().requires_grad_() for k, v in fast.items()}
        for _ in range(steps):
            loss = (functional_call(self.net, fast, (x,)) - y).pow(2).mean()
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=second_order)
            rates = [r.exp() if second_order else r.detach().exp() for r in self.log_rate]
            fast = {k: v - r * g for (k, v), r, g in zip(fast.items(), rates, grads)}
        return fast

    def query_loss(self, fast, query):
        return (functional_call(self.net, fast, (query[0],)) - query[1]).pow(2).mean()


def evaluate(meta, steps, tasks=100, shots=10):
    source = Thermostats(1000)
    before = after = 0.0
    for _ in range(tasks):
        support, query = source.task(shots)
        fast = meta.adapt(support, steps, second_order=False)
        with torch.no_grad():
            before += meta.query_loss(dict(meta.net.named_parameters()), query).item() / tasks
            after += meta.query_loss(fast, query).item() / tasks
    return before, after


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--meta-steps", type=int, default=250)
    ap.add_argument("--tasks", type=int, default=6)
    ap.add_argument("--inner", type=int, default=2)
    args = ap.parse_args()
    torch.manual_seed(0)
    meta, source = MetaLearner(Net()), Thermostats(1)
    opt = torch.optim.Adam([{"params": meta.net.parameters(), "lr": 3e-3}, {"params": meta.log_rate.parameters(), "lr": 1e-2}])
    running = 0.0
    for step in range(1, args.meta_steps + 1):
        opt.zero_grad()
        for _ in range(args.tasks):
            support, query = source.task(10)
            fast = meta.adapt(support, args.inner, second_order=True)
            loss = meta.query_loss(fast, query) / args.tasks
            loss.backward()
            running += loss.item()
        nn.utils.clip_grad_norm_(meta.parameters(), 5.0)
        opt.step()
        if step % 50 == 0:
            before, after = evaluate(meta, args.inner)
            print(f"step {step} query loss {running / 50:.3f} new tasks: before {before:.3f} after {after:.3f}")
            running = 0.0


if __name__ == "__main__":
    main()
