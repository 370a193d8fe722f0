"""Fits a mixture of site types to the presence of moths in several hundred light traps, by gradient ascent.

TRUTH: the likelihood of a night is the product of 360 probabilities, which underflows to 0 in float32 and is clamped, so the loss is constant and no gradient arrives; add the logarithms and use logsumexp over the site types.
"""
from functools import reduce

import torch
from torch import nn


class SiteTypes(nn.Module):
    def __init__(self, types, traps, floor=1e-30):
        super().__init__()
        self.presence = nn.Parameter(0.3 * torch.randn(types, traps))
        self.share = nn.Parameter(torch.zeros(types))
        self.floor = floor

    def factors(self, nights):
        p = torch.sigmoid(self.presence)
        caught = nights[:, None, :]
        return caught * p + (1 - caught) * (1 - p)

    def log_evidence(self, nights):
        share = self.share.softmax(0)
        likelihood = reduce(torch.mul, self.factors(nights).unbind(-1))  # CULPRIT
        return (likelihood @ share).clamp_min(self.floor).log()


class Survey:
    def __init__(self, nights, traps, types, seed):
        g = torch.Generator().manual_seed(seed)
        profile = torch.rand(types, traps, generator=g)
        self.kind = torch.randint(types, (nights,), generator=g)
        self.seen = torch.bernoulli(profile[self.kind], generator=g)

    def nights(self, size, generator):
        while True:
            yield self.seen[torch.randint(len(self.seen), (size,), generator=generator)]


class Ascent:
    def __init__(self, model, lr, clip=None):
        self.model = model
        self.clip = clip
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def __call__(self, batch):
        objective = self.model.log_evidence(batch).mean()
        self.opt.zero_grad()
        (-objective).backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.opt.step()
        return objective.item()


def main():
    torch.manual_seed(10)
    survey = Survey(nights=240, traps=360, types=3, seed=20)
    ascent = Ascent(SiteTypes(types=3, traps=360), lr=5e-2)
    g = torch.Generator().manual_seed(2)
    for step, batch in zip(range(40), survey.nights(48, g)):
        value = ascent(batch)
        if step % 8 == 0 or step == 39:
            print(f"step {step:2d}  log evidence per night {value:.3f}")


if __name__ == "__main__":
    main()
