"""lightning discussion, "Manual gradient accumulation with a remainder"
Symptom: none, asker is not sure about zero_grad and the last incomplete group.
EXPECT: runs
TRUTH: Correct. Each micro loss is divided by the size of its group, the gradients add up in .grad, step and
zero_grad come at the end of a group including the incomplete last one."""
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(220, 9)
Y = (X[:, 0] * X[:, 1] > 0).long()
micro = list(zip(X.split(20), Y.split(20)))
ACC = 4
net = nn.Sequential(nn.Linear(9, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def group_size(i):
    start = (i // ACC) * ACC
    return min(ACC, len(micro) - start)


def epoch():
    running = 0.0
    opt.zero_grad()
    for i, (x, y) in enumerate(micro):
        loss = nn.functional.cross_entropy(net(x), y)
        (loss / group_size(i)).backward()
        running += loss.detach()
        if (i + 1) % ACC == 0 or i + 1 == len(micro):
            opt.step()
            opt.zero_grad()
    return running / len(micro)


for e in range(60):
    mean = epoch()
    if e % 20 == 0:
        print(e, mean.item())
print("loss", mean.item())
