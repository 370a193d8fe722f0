"""Sleep stage classification that switches from Adam to SGD after a short warm phase.

TRUTH: the cosine schedule is bound to Adam, which does not step any more after the switch, so the rate of the SGD that does the work never falls; the printed SGD rate stays at its start; bind the schedule to the SGD when switching.
"""
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR


class StageNet(nn.Module):
    def __init__(self, n_features=18, n_stages=5):
        super().__init__()
        self.context = nn.Conv1d(n_features, 24, 5, padding=2)
        self.stage = nn.Conv1d(24, n_stages, 1)

    def forward(self, epochs):
        return self.stage(F.relu(self.context(epochs)))


class Experiment:
    def __init__(self, warm=30, main=120, seed=16):
        torch.manual_seed(seed)
        self.gen = torch.Generator().manual_seed(seed)
        self.profile = torch.randn(5, 18, generator=self.gen)
        self.net = StageNet()
        self.warm, self.main = warm, main

    def night(self, n=16, length=40):
        stage = torch.randint(0, 5, (n, length // 8), generator=self.gen).repeat_interleave(8, dim=1)
        x = self.profile[stage] + 1.5 * torch.randn(n, length, 18, generator=self.gen)
        return x.transpose(1, 2), stage

    def train_step(self, optimizer):
        x, stage = self.night()
        loss = F.cross_entropy(self.net(x), stage)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def run(self):
        adam = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        for step in range(self.warm):
            loss = self.train_step(adam)
        print(f"warm phase done, loss {loss:.4f}")
        sgd = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)
        schedule = CosineAnnealingLR(sgd, T_max=self.main)
        for step in range(1, self.main + 1):
            loss = self.train_step(sgd)
            schedule.step()
            if step % 30 == 0:
                print(f"step {step:3d} loss {loss:.4f} rate {sgd.param_groups[0]['lr']:.4f}")


if __name__ == "__main__":
    Experiment().run()
