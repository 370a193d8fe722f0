"""Stack Overflow, "Self distillation: deeper exit teaches the earlier exits, targets detached"
Symptom: none, asker asks whether detach also stops the deep exit from learning.
EXPECT: runs
TRUTH: Correct. The deepest exit learns from the labels; detach only keeps the early exits' loss from pulling their teacher."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiExit(nn.Module):
    def __init__(self, d=10, w=32, c=4, n=3):
        super().__init__()
        self.stages = nn.ModuleList()
        self.exits = nn.ModuleList()
        for i in range(n):
            self.stages.append(nn.Sequential(nn.Linear(d if i == 0 else w, w), nn.ReLU()))
            self.exits.append(nn.Linear(w, c))

    def forward(self, x):
        outs = []
        for stage, head in zip(self.stages, self.exits):
            x = stage(x)
            outs.append(head(x))
        return outs


def self_distillation(outs, y, T=3.0, alpha=0.5):
    *early, last = outs
    loss = F.cross_entropy(last, y)
    soft = (last.detach() / T).softmax(1)
    for o in early:
        kd = F.kl_div((o / T).log_softmax(1), soft, reduction="batchmean") * T * T
        loss = loss + alpha * kd + (1 - alpha) * F.cross_entropy(o, y)
    return loss


x = torch.randn(300, 10)
y = (x[:, :4] * x[:, 4:8]).argmax(1)
net = MultiExit()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(150):
    outs = net(x)
    loss = self_distillation(outs, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "acc of exits", [(o.argmax(1) == y).float().mean().item() for o in outs])
