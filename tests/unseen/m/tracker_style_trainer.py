"""WRONG. Forecaster trained with meters for the log: memory rises from step to step and never falls within an epoch; the number of autograd
nodes held by the meters grows with every batch.
TRUTH: AverageMeter adds tensors with a graph to its sum, so all graphs of the epoch stay alive; pass val.item() (or val.detach())
to the meter.
THREAD: https://github.com/visionml/pytracking/pull/313
"""
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n  # CULPRIT
        self.count += n
        self.avg = self.sum / self.count


class SeqForecaster(nn.Module):
    def __init__(self, horizon, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.mean = nn.Linear(hidden, horizon)
        self.log_scale = nn.Linear(hidden, horizon)

    def forward(self, x):
        h = self.rnn(x.unsqueeze(-1))[0][:, -1]
        return self.mean(h), self.log_scale(h).clamp(-4, 2)


class Actor:
    def __init__(self, net, loss_weight):
        self.net = net
        self.loss_weight = loss_weight

    def __call__(self, data):
        mean, log_scale = self.net(data["past"])
        nll = (log_scale + 0.5 * ((data["future"] - mean) / log_scale.exp()).pow(2)).mean()
        smooth = mean.diff(dim=1).pow(2).mean()
        loss = self.loss_weight["nll"] * nll + self.loss_weight["smooth"] * smooth
        stats = {"Loss/total": loss, "Loss/nll": nll, "Loss/smooth": smooth,
                 "MAE": F.l1_loss(mean, data["future"])}
        return loss, stats


class Loader:
    def __init__(self, name, n_batches, batch, past, horizon, training):
        self.name, self.training = name, training
        self.n_batches, self.batch, self.past, self.horizon = n_batches, batch, past, horizon

    def __iter__(self):
        for _ in range(self.n_batches):
            t = torch.arange(self.past + self.horizon).float()
            freq = 0.1 + 0.4 * torch.rand(self.batch, 1)
            x = torch.sin(freq * t + 6.28 * torch.rand(self.batch, 1)) + 0.1 * torch.randn(self.batch, len(t))
            yield {"past": x[:, :self.past], "future": x[:, self.past:]}


class LTRTrainer:
    def __init__(self, actor, loaders, optimizer, lr_scheduler, print_interval):
        self.actor, self.loaders, self.optimizer = actor, loaders, optimizer
        self.lr_scheduler, self.print_interval = lr_scheduler, print_interval
        self.stats = OrderedDict((loader.name, None) for loader in loaders)

    def cycle_dataset(self, loader):
        self.actor.net.train(loader.training)
        for i, data in enumerate(loader, 1):
            with torch.set_grad_enabled(loader.training):
                loss, stats = self.actor(data)
            if loader.training:
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.actor.net.parameters(), 1.0)
                self.optimizer.step()
            self._update_stats(stats, data["past"].size(0), loader)
            self._print_stats(i, loader)

    def _update_stats(self, new_stats, batch_size, loader):
        if self.stats[loader.name] is None:
            self.stats[loader.name] = OrderedDict((name, AverageMeter()) for name in new_stats)
        for name, val in new_stats.items():
            self.stats[loader.name][name].update(val, batch_size)  # CULPRIT

    def _print_stats(self, i, loader):
        if i % self.print_interval == 0 or i == loader.n_batches:
            text = ", ".join(f"{k}: {m.avg:.4f}" for k, m in self.stats[loader.name].items())
            print(f"[{loader.name}: {i} / {loader.n_batches}] {text}, nodes held: {count_nodes(self.stats)}")

    def train(self, max_epochs):
        for epoch in range(1, max_epochs + 1):
            for loader in self.loaders:
                self.cycle_dataset(loader)
            self.lr_scheduler.step()
            for meters in self.stats.values():
                for m in meters.values():
                    m.reset()


def count_nodes(stats):
    todo = [m.sum.grad_fn for meters in stats.values() if meters for m in meters.values() if torch.is_tensor(m.sum)]
    seen = set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo.extend(parent for parent, _ in node.next_functions)
    return len(seen)


def main():
    torch.manual_seed(0)
    net = SeqForecaster(horizon=8)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    loaders = [Loader("train", 24, 32, 40, 8, True), Loader("val", 4, 64, 40, 8, False)]
    actor = Actor(net, {"nll": 1.0, "smooth": 0.05})
    LTRTrainer(actor, loaders, optimizer, scheduler, print_interval=6).train(2)


if __name__ == "__main__":
    main()
