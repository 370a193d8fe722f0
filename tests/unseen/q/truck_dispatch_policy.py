"""Learns by policy gradient which truck of a depot should take the next order; trucks in repair are masked out.

TRUTH: entropy_from_logits forms exp(logp) * logp. For a masked truck the logit is -inf, so the product is 0 * -inf =
NaN, in the value and in the gradient of the entropy bonus; the first batch in which any truck is in repair turns the
loss, all gradients and after the step all weights into NaN. Fix: put 0 in place of logp where it is -inf before the
multiplication (logp.masked_fill(logp == float("-inf"), 0.0)); replacing NaN afterwards would leave NaN gradients.
Drawn from huggingface/trl#7263.
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

TRUCKS, FEATS = 6, 4


class Depot:
    def __init__(self, seed, repair_rate):
        self.g = torch.Generator().manual_seed(seed)
        self.repair_rate = repair_rate

    def orders(self, n, day):
        """Truck features (distance, load, age, speed) and which trucks are available."""
        x = torch.rand(n, TRUCKS, FEATS, generator=self.g)
        rate = self.repair_rate if day >= 20 else 0.0
        free = torch.rand(n, TRUCKS, generator=self.g) >= rate
        free[:, 0] |= ~free.any(1)
        return x, free

    def pay(self, x, truck):
        c = x[torch.arange(len(x)), truck]
        return 2.0 - 1.5 * c[:, 0] - c[:, 1] * c[:, 2] + 0.5 * c[:, 3] + 0.1 * torch.randn(len(x), generator=self.g)


class Dispatcher(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(FEATS, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.value = nn.Sequential(nn.Linear(FEATS * TRUCKS, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x, free):
        logits = self.score(x).squeeze(-1).masked_fill(~free, float("-inf"))
        return logits, self.value(x.flatten(1)).squeeze(-1)


def entropy_from_logits(logits, chunk=128):
    parts = []
    for c in logits.split(chunk):
        logp = F.log_softmax(c, dim=-1)
        parts.append(-(logp.exp() * logp).sum(-1))  # CULPRIT
    return torch.cat(parts)


def sample(logits):
    gumbel = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)))
    return (logits + gumbel).argmax(-1)


class Trainer:
    def __init__(self, model, depot, lr, ent_coef):
        self.model, self.depot, self.ent_coef = model, depot, ent_coef
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def day(self, day, batch):
        x, free = self.depot.orders(batch, day)
        logits, value = self.model(x, free)
        truck = sample(logits.detach())
        reward = self.depot.pay(x, truck)
        logp = F.log_softmax(logits, -1).gather(1, truck[:, None]).squeeze(1)
        advantage = reward - value.detach()
        policy_loss = -(advantage * logp).mean()
        value_loss = F.mse_loss(value, reward)
        entropy = entropy_from_logits(logits).mean()
        loss = policy_loss + 0.5 * value_loss - self.ent_coef * entropy
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        return {"loss": loss.item(), "pay": reward.mean().item(), "entropy": entropy.item()}


@torch.no_grad()
def greedy_pay(model, seed=50, n=2000):
    depot = Depot(seed, 0.1)
    x, free = depot.orders(n, day=100)
    return depot.pay(x, model(x, free)[0].argmax(-1)).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--days", type=int, default=400)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--repair-rate", type=float, default=0.02)
    args = ap.parse_args()
    torch.manual_seed(0)
    model = Dispatcher()
    trainer = Trainer(model, Depot(1, args.repair_rate), lr=3e-3, ent_coef=0.01)
    for day in range(args.days):
        stats = trainer.day(day, args.batch)
        if day % 50 == 0 or day == args.days - 1:
            print(f"day {day:3d} " + " ".join(f"{k} {v:.3f}" for k, v in stats.items()) + f" greedy {greedy_pay(model):.3f}")


if __name__ == "__main__":
    main()
