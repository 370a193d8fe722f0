"""Learns from which invoice amount on a second approval is worth its cost, through a soft threshold.

TRUTH: amounts are in euros of hundreds and thousands, and the sigmoid's softness of 0.05 euro puts every invoice so far out that its derivative is exactly 0, so the threshold never moves (gradient 0); use a softness in the scale of the amounts (100 euros).
"""
import argparse
import json

import torch
from torch import nn

DEFAULTS = json.loads("""
{
  "start": 400.0,
  "review_cost": 12.0,
  "lr": 20.0,
  "steps": 150
}
""")
SOFTNESS = {"amount": 100.0, "risk": 0.05}


class ApprovalRule(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.amount = nn.Parameter(torch.tensor(start))
        self.risk = nn.Parameter(torch.tensor(0.5))

    def forward(self, amount, risk):
        large = torch.sigmoid((amount - self.amount) / SOFTNESS["amount"])
        risky = torch.sigmoid((risk - self.risk) / SOFTNESS["risk"])
        return 1 - (1 - large) * (1 - risky)


def invoices(n, generator):
    amount = torch.rand(n, generator=generator) * 3000
    risk = torch.rand(n, generator=generator)
    wrong = torch.rand(n, generator=generator) < 0.02 * risk
    return amount, risk, wrong.float()


def expected_cost(rule, batch, review_cost):
    amount, risk, wrong = batch
    review = rule(amount, risk)
    return (review * review_cost + (1 - review) * 0.01 * amount).mean()


def main():
    parser = argparse.ArgumentParser()
    for name, value in DEFAULTS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    args = parser.parse_args()
    generator = torch.Generator().manual_seed(41)
    rule = ApprovalRule(args.start)
    opt = torch.optim.Adam([
        {"params": [rule.amount], "lr": args.lr},
        {"params": [rule.risk], "lr": 0.01},
    ])
    for step in range(args.steps):
        cost = expected_cost(rule, invoices(256, generator), args.review_cost)
        opt.zero_grad()
        cost.backward()
        opt.step()
        if step % 30 == 0 or step == args.steps - 1:
            print(f"{step:3d} cost {cost.item():.3f} threshold {rule.amount.item():8.2f} "
                  f"gradient {rule.amount.grad.item():.2e} risk {rule.risk.item():.2f}")


if __name__ == "__main__":
    main()
