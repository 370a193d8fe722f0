"""GitHub issue (kaggle notebook), "Label smoothing works in epoch 1, then the predictions get flatter and flatter"
Symptom: training loss rises over the epochs, probabilities go to uniform.
EXPECT: runs
TRUTH: The smoothing is done in place on a slice (a view) of the stored one-hot targets, so it is applied again in each epoch. Work out of place."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class OneHotData:
    def __init__(self, x, y, c, bs=50):
        self.x, self.c, self.bs = x, c, bs
        self.t = nn.functional.one_hot(y, c).float()

    def smooth(self, t, eps=0.1):
        return t.mul_(1 - eps).add_(eps / self.c)  # CULPRIT

    def __iter__(self):
        for i in range(0, len(self.x), self.bs):
            yield self.x[i:i + self.bs], self.smooth(self.t[i:i + self.bs])


def soft_ce(logits, t):
    return -(t * logits.log_softmax(1)).sum(1).mean()


x = torch.randn(300, 6)
y = x[:, :4].argmax(1)
data = OneHotData(x, y, 4)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(40):
    total = 0.0
    for xb, tb in data:
        loss = soft_ce(net(xb), tb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 6
    if epoch % 10 == 0:
        conf = net(x).softmax(1).max(1).values.mean().item()
        print(epoch, total, "confidence", conf)
print("loss", total, "confidence", net(x).softmax(1).max(1).values.mean().item())
