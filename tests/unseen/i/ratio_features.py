"""WRONG. Only the second feature is used in the loss and its value is fine, but after backward the parameters that also enter the first, undefined feature have the gradient nan.
TRUTH: the features are written into one tensor z; z[1] then depends on z through the index assignment and the nan of x * y / y in z[0] comes back as 0 * nan; keep the features as separate tensors (or mask before the division).
THREAD: https://whosebug.com/question/5957504/PyTorch-backward-on-a-tensor-element-affected-by-nan-in-other-elements
"""
import torch
import torch.nn as nn

torch.manual_seed(0)


class FeatureBuilder(nn.Module):
    """Two scalar features of a calibrated measurement: a ratio and a sum."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(0.5))
        self.offset = nn.Parameter(torch.tensor(0.1))

    def forward(self, a, b):
        x = self.gain * a + self.offset
        y = b * self.gain
        z = torch.full((2,), float('nan'))
        z[0] = x * y / y  # CULPRIT
        z[1] = x + y
        return z


class Calibration(object):
    def __init__(self, lr=0.05):
        self.builder = FeatureBuilder()
        self.optimizer = torch.optim.Adam(self.builder.parameters(), lr=lr)
        self.history = []

    def residual(self, z, target):
        """the ratio is undefined for b == 0, these measurements only use the sum"""
        terms = []
        if not torch.isnan(z[0]):
            terms.append((z[0] - target[0]) ** 2)
        terms.append((z[1] - target[1]) ** 2)
        return sum(terms) / len(terms)

    def step(self, rows):
        self.optimizer.zero_grad()
        loss = 0
        for a, b, target in rows:
            loss = loss + self.residual(self.builder(a, b), target)
        loss = loss / len(rows)
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())
        return loss.item()


def measure(n, gain=1.7, offset=-0.4):
    rows = []
    for i in range(n):
        a = torch.randn(()) + 1
        b = torch.rand(()) + 0.5
        if i % 25 == 24:
            b = torch.zeros(())
        x, y = gain * a + offset, gain * b
        rows.append((a, b, torch.stack([x, x + y]) + 0.01 * torch.randn(2)))
    return rows


if __name__ == '__main__':
    rows = measure(100)
    cal = Calibration()
    for epoch in range(12):
        for i in range(0, len(rows), 10):
            loss = cal.step(rows[i:i + 10])
        print('epoch %d loss %.5f gain %.4f offset %.4f' % (
            epoch, loss, cal.builder.gain.item(), cal.builder.offset.item()))
