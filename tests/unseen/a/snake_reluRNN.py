"""discuss.pytorch.org, "RNN explodes to nan in spite of clip_grad_norm_"
Symptom: clipping to 1.0 is in the loop, loss goes to huge values all the same.
EXPECT: runs
TRUTH: The gradients are clipped after optimizer.step(), when they were used already, and zeroed afterwards.
Clip between backward() and step()."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.eye(8) * 1.3)
        self.u = nn.Linear(2, 8)
        self.o = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.zeros(x.size(0), 8)
        for t in range(x.size(1)):
            h = torch.relu(h @ self.w + self.u(x[:, t]))
        return self.o(h).squeeze(1)


def apply_update(net, opt, loss, max_norm=1.0):
    opt.zero_grad()
    loss.backward()
    opt.step()  # CULPRIT
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)  # CULPRIT


x = torch.randn(64, 20, 2)
y = x[:, :, 0].mean(1)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for it in range(60):
    loss = nn.functional.mse_loss(net(x), y)
    apply_update(net, opt, loss)
    if it % 10 == 0:
        print(it, loss.item())
print("loss", loss.item())
