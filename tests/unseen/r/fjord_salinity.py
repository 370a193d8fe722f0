"""Predicts fjord salinity from tide and runoff with a callback-driven trainer and a multi-step schedule.

TRUTH: the schedule callback steps the scheduler at the start of an epoch, before the optimizer has stepped at all; PyTorch warns "lr_scheduler.step() before optimizer.step()" and every decay comes one epoch early (the first epoch already runs at the rate of the second); step at the end of the epoch.
"""
import torch
from torch import nn
import torch.nn.functional as F


class Callback:
    def on_epoch_start(self, trainer):
        pass

    def on_epoch_end(self, trainer):
        pass


class Schedule(Callback):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def on_epoch_start(self, trainer):  # CULPRIT
        self.scheduler.step()


class Report(Callback):
    def on_epoch_start(self, trainer):
        trainer.history.append({"lr": trainer.opt.param_groups[0]["lr"]})

    def on_epoch_end(self, trainer):
        trainer.history[-1]["loss"] = trainer.mean_loss
        print(len(trainer.history) - 1, trainer.history[-1])


class Trainer:
    def __init__(self, net, opt, callbacks):
        self.net, self.opt, self.callbacks = net, opt, callbacks
        self.history, self.mean_loss = [], float("nan")

    def emit(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def fit(self, x, y, epochs, batch=50):
        for _ in range(epochs):
            self.emit("on_epoch_start")
            losses = []
            for idx in torch.randperm(len(x)).split(batch):
                loss = F.mse_loss(self.net(x[idx]), y[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                losses.append(loss.detach())
            self.mean_loss = torch.stack(losses).mean().item()
            self.emit("on_epoch_end")


def fjord(n):
    tide, runoff = torch.randn(n, 3), torch.rand(n, 2)
    salt = 1.0 + 0.4 * torch.sin(tide[:, :1]) - runoff[:, :1] ** 2
    return torch.cat([tide, runoff], 1), salt + 0.02 * torch.randn(n, 1)


if __name__ == "__main__":
    torch.manual_seed(27)
    x, y = fjord(500)
    net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    decay = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[1, 6, 9], gamma=0.3)
    Trainer(net, opt, [Schedule(decay), Report()]).fit(x, y, epochs=12)
