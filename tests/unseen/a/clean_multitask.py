"""Stack Overflow, "Two losses on a shared encoder: retain_graph=True for the first backward?"
Symptom: none, asker read that retain_graph is always a mistake.
EXPECT: runs
TRUTH: Correct. Two backward calls share the encoder's graph, so the first needs retain_graph=True; the gradients add up.
One backward on the sum would be the same and cheaper."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
        self.age = nn.Linear(32, 1)
        self.sex = nn.Linear(32, 1)

    def forward(self, x):
        h = self.enc(x)
        return self.age(h).squeeze(1), self.sex(h).squeeze(1)


x = torch.randn(256, 8)
age = x[:, 0] + 0.5 * x[:, 1]
sex = (x[:, 2] > 0).float()
net = Shared()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(60):
    a, s = net(x)
    la = nn.functional.mse_loss(a, age)
    ls = nn.functional.binary_cross_entropy_with_logits(s, sex)
    opt.zero_grad()
    la.backward(retain_graph=True)
    ls.backward()
    opt.step()
    if epoch % 20 == 0:
        print(epoch, la.item(), ls.item())
print("loss", la.item() + ls.item())
