"""Stack Overflow, "Accuracy at chance since I shuffle the data every epoch"
Symptom: without shuffling the net overfits, with shuffling the loss stays at log(n).
EXPECT: runs
TRUTH: Features and labels are shuffled by two different permutations, so the pairs are torn apart. Draw one permutation and use it for both."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def permuted(t):
    return t[torch.randperm(len(t))]


class Epochs:
    def __init__(self, x, y, batch):
        self.x, self.y, self.batch = x, y, batch

    def __iter__(self):
        x, y = permuted(self.x), permuted(self.y)  # CULPRIT
        yield from zip(x.split(self.batch), y.split(self.batch))


x = torch.randn(240, 6)
y = x[:, :4].argmax(1)
data = Epochs(x, y, 40)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(30):
    seen = 0.0
    for xb, yb in data:
        loss = criterion(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen += loss.item()
    if epoch % 10 == 0:
        print(epoch, seen / 6)
print("loss", seen / 6)
