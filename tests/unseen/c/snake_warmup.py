"""GitHub issue (lightning), "Learning rate never changes after unfreezing"
Symptom: the scheduler's get_last_lr() falls, the group in the optimizer keeps its rate, the loss oscillates to the end.
EXPECT: runs
TRUTH: The optimizer is rebuilt at unfreezing, the scheduler still drives the old one. Build the scheduler again with the new optimizer (or use add_param_group)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Trainer:
    def __init__(self, total=300):
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.head = nn.Linear(32, 1)
        self.body.requires_grad_(False)
        self.total = total
        self.configure(self.head.parameters())
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda s: max(0.001, 1 - s / total))

    def configure(self, params):
        self.opt = torch.optim.SGD(params, lr=0.15, momentum=0.9)

    def unfreeze(self):
        self.body.requires_grad_(True)
        self.configure([*self.body.parameters(), *self.head.parameters()])  # CULPRIT

    def step(self, x, y):
        loss = nn.functional.mse_loss(self.head(self.body(x)), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.item()


w = torch.randn(6, 1)
tr = Trainer()
tail = []
for it in range(300):
    if it == 50:
        tr.unfreeze()
    x = torch.randn(16, 6)
    tail.append(tr.step(x, (x @ w).sin() + 0.3 * torch.randn(16, 1)))
print("loss", sum(tail[-40:]) / 40, "scheduler", tr.sched.get_last_lr(), "optimizer", tr.opt.param_groups[0]["lr"])
