"""Match job adverts to profiles with a text tower at a low and a ranking head at a high learning rate.

TRUTH: the tower is frozen for the whole run, yet it is given to the optimizer as a group with a learning rate of its own; its grads stay None, the group does nothing and its rate is without effect; leave the group out.
"""
import torch
import torch.nn.functional as F
from torch import nn


class Matcher(nn.Module):
    def __init__(self, vocab=200, dim=32):
        super().__init__()
        self.tower = nn.ModuleDict({
            "bag": nn.EmbeddingBag(vocab, dim, mode="mean"),
            "project": nn.Linear(dim, dim),
        })
        self.head = nn.Sequential(nn.Linear(3 * dim, 32), nn.ReLU(), nn.Linear(32, 1))
        self.tower.requires_grad_(False)

    def encode(self, ids):
        return torch.tanh(self.tower["project"](self.tower["bag"](ids)))

    def forward(self, advert, profile):
        a, p = self.encode(advert), self.encode(profile)
        return self.head(torch.cat([a, p, a * p], dim=1)).squeeze(1)


class Trainer:
    def __init__(self, model, head_lr=5e-3, tower_lr=5e-5):
        self.model = model
        groups = [{"params": model.head.parameters(), "lr": head_lr, "name": "head"}]
        groups.append({"params": model.tower.parameters(), "lr": tower_lr, "name": "tower"})  # CULPRIT
        self.opt = torch.optim.AdamW(groups, weight_decay=0.01)
        self.sched = torch.optim.lr_scheduler.LinearLR(self.opt, 1.0, 0.2, total_iters=150)

    def step(self, advert, profile, fits):
        logit = self.model(advert, profile)
        loss = F.binary_cross_entropy_with_logits(logit, fits)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.item(), ((logit > 0) == (fits > 0.5)).float().mean().item()


def pairs(n, gen):
    topic = torch.randint(0, 4, (n, 2), generator=gen)
    same = torch.rand(n, generator=gen) < 0.5
    topic[same, 1] = topic[same, 0]
    words = torch.randint(0, 50, (n, 2, 12), generator=gen) + 50 * topic[..., None]
    return words[:, 0], words[:, 1], (topic[:, 0] == topic[:, 1]).float()


def main():
    torch.manual_seed(10)
    gen = torch.Generator().manual_seed(10)
    trainer = Trainer(Matcher())
    for step in range(150):
        loss, acc = trainer.step(*pairs(128, gen))
        if step % 30 == 0 or step == 149:
            rates = {g["name"]: g["lr"] for g in trainer.opt.param_groups}
            print(f"{step:3d} loss {loss:.3f} acc {acc:.2f} rates {rates}")


if __name__ == "__main__":
    main()
