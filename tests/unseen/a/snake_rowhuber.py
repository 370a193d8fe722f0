"""discuss.pytorch.org, "Custom loss function: loss does not change at all over epochs"
Symptom: no error since I added requires_grad=True, loss identical in every epoch.
EXPECT: runs
TRUTH: The values are taken out of the graph and wrapped again with torch.tensor(..., requires_grad=True),
a new leaf that has no path to the model. Compute the loss with the tensors themselves (torch.stack)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class HuberPerRow(nn.Module):
    def __init__(self, delta):
        super().__init__()
        self.delta = delta

    def row(self, p, t):
        err = (p - t).abs().sum()
        return 0.5 * err ** 2 if err < self.delta else self.delta * (err - 0.5 * self.delta)

    def forward(self, pred, target):
        rows = [self.row(p, t) for p, t in zip(pred, target)]
        rows = torch.tensor(rows, requires_grad=True)  # CULPRIT
        return rows.mean()


def main():
    x = torch.randn(64, 5)
    t = x @ torch.randn(5, 2)
    net = nn.Linear(5, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    crit = HuberPerRow(1.0)
    for epoch in range(30):
        opt.zero_grad()
        loss = crit(net(x), t)
        loss.backward()
        opt.step()
        if epoch % 10 == 9:
            print(epoch, "loss", loss.item())


main()
