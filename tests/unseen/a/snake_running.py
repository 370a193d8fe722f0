"""Stack Overflow, "RuntimeError: Trying to backward through the graph a second time when summing the loss"
Symptom: raises in the second batch of the first epoch.
EXPECT: raises RuntimeError
TRUTH: The running sum keeps the graph of earlier batches and backward is called on the sum.
Call backward on the batch's own loss and add loss.item() to the sum."""
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(96, 10)
Y = (X.sum(1) > 0).long()


def batches(size=16):
    for i in range(0, len(X), size):
        yield X[i:i + size], Y[i:i + size]


model = nn.Sequential(
    nn.Linear(10, 16),
    nn.ReLU(),
    nn.Linear(16, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run_epoch():
    epoch_loss = 0
    for step, (xb, yb) in enumerate(batches()):
        optimizer.zero_grad()
        out = model(xb)
        epoch_loss += criterion(out, yb)
        epoch_loss.backward()  # CULPRIT
        optimizer.step()
        print("step", step, float(epoch_loss) / (step + 1))
    return epoch_loss / (step + 1)


for epoch in range(3):
    print("epoch", epoch, run_epoch().item())
