"""Stack Overflow, "Go back to the last good weights when the loss jumps: deepcopy of model and optimizer state"
Symptom: none.
EXPECT: runs
TRUTH: Correct. The snapshot is a deepcopy, so it does not follow the training, and optimizer state is restored together with the weights."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)


class Guard:
    def __init__(self, model, opt, factor=3.0):
        self.model, self.opt, self.factor = model, opt, factor
        self.best, self.rollbacks = float("inf"), 0
        self.save()

    def save(self):
        self.snap = copy.deepcopy((self.model.state_dict(), self.opt.state_dict()))

    def check(self, value):
        if value < self.best:
            self.best = value
            self.save()
        elif value > self.factor * self.best:
            self.model.load_state_dict(self.snap[0])
            lr = self.opt.param_groups[0]["lr"]
            self.opt.load_state_dict(copy.deepcopy(self.snap[1]))
            for g in self.opt.param_groups:
                g["lr"] = lr * 0.5
            self.rollbacks += 1


x = torch.randn(200, 5)
y = x.prod(1, keepdim=True).tanh() + x[:, :1]
net = nn.Sequential(nn.Linear(5, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=1.5, momentum=0.9)
guard = Guard(net, opt)
for it in range(300):
    loss = nn.functional.mse_loss(net(x), y)
    guard.check(loss.item())
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
net.load_state_dict(guard.snap[0])
print("loss", nn.functional.mse_loss(net(x), y).item(), "rollbacks", guard.rollbacks, "lr", opt.param_groups[0]["lr"])
