"""WRONG. The training loss jumps each time a validation has run, as if the run were thrown back; without the EMA hook this does not happen.
TRUTH: EMAHook.before_val_epoch keeps model.state_dict() as a backup, but that dict refers to the live tensors, which load_state_dict overwrites with the EMA weights; the backup must be cloned.
THREAD: https://github.com/open-mmlab/mmengine/pull/266
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Hook:
    def before_run(self, runner):
        pass

    def after_train_iter(self, runner):
        pass

    def before_val_epoch(self, runner):
        pass

    def after_val_epoch(self, runner):
        pass


class EMAHook(Hook):
    def __init__(self, momentum=0.98):
        self.momentum = momentum

    def before_run(self, runner):
        self.shadow = {k: v.detach().clone() for k, v in runner.model.state_dict().items()}

    @torch.no_grad()
    def after_train_iter(self, runner):
        for k, v in runner.model.state_dict().items():
            if v.is_floating_point():
                self.shadow[k].mul_(self.momentum).add_(v, alpha=1 - self.momentum)
            else:
                self.shadow[k].copy_(v)

    def before_val_epoch(self, runner):
        self.backup = {k: v for k, v in runner.model.state_dict().items()}  # CULPRIT
        runner.model.load_state_dict(self.shadow)

    def after_val_epoch(self, runner):
        runner.model.load_state_dict(self.backup)
        self.backup = None


class ProbeHook(Hook):
    """Loss on one fixed training batch, just before and just after the validation."""

    def __init__(self, batch):
        self.batch = batch

    @torch.no_grad()
    def _loss(self, runner):
        x, y = self.batch
        return F.mse_loss(runner.model(x), y).item()

    def before_val_epoch(self, runner):
        self.before = self._loss(runner)

    def after_val_epoch(self, runner):
        print(f"  train batch: before val {self.before:.4f}, after val {self._loss(runner):.4f}")


class Runner:
    def __init__(self, model, optimizer, train, val):
        self.model, self.optimizer = model, optimizer
        self.train_data, self.val_data = train, val
        self.hooks = []

    def register_hook(self, hook):
        self.hooks.append(hook)

    def call(self, name, reverse=False):
        for hook in (reversed(self.hooks) if reverse else self.hooks):
            getattr(hook, name)(self)

    def train_epoch(self):
        total = 0.0
        for x, y in self.train_data:
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.call("after_train_iter")
            total += loss.item()
        return total / len(self.train_data)

    @torch.no_grad()
    def val_epoch(self):
        self.model.eval()
        loss = sum(F.mse_loss(self.model(x), y).item() for x, y in self.val_data)
        self.model.train()
        return loss / len(self.val_data)

    def run(self, epochs):
        self.call("before_run")
        for epoch in range(epochs):
            train_loss = self.train_epoch()
            self.call("before_val_epoch")
            val_loss = self.val_epoch()
            self.call("after_val_epoch", reverse=True)
            print(f"epoch {epoch} train {train_loss:.4f} val(ema) {val_loss:.4f}")


def batches(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    y = (x[:, :1] * x[:, 1:2] + x[:, 2:3]).tanh() * 3
    return list(zip(x.split(32), y.split(32)))


def main():
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    train, val = batches(256, 1), batches(128, 2)
    runner = Runner(model, optimizer, train, val)
    runner.register_hook(ProbeHook(train[0]))
    runner.register_hook(EMAHook())
    runner.run(5)


if __name__ == "__main__":
    main()
