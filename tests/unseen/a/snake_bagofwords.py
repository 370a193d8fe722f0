"""Stack Overflow, "PyTorch model parameters do not update, gradients look fine"
Symptom: printing p.grad after backward shows numbers, the loss is constant to the last digit.
EXPECT: runs
TRUTH: zero_grad is called between backward and step, so the step is taken with empty gradients.
Move zero_grad before backward (or after step)."""
import torch
import torch.nn as nn

torch.manual_seed(0)
V, D = 50, 16
docs = torch.randint(0, V, (200, 12))
cls = (docs < 10).sum(1).gt(2).long()


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(V, D, mode="mean")
        self.fc = nn.Linear(D, 2)

    def forward(self, d):
        return self.fc(self.emb(d))


def optimise(opt, loss):
    loss.backward()
    grads = [p.grad.norm().item() for g in opt.param_groups for p in g["params"]]
    opt.zero_grad()  # CULPRIT
    opt.step()
    return sum(grads)


model = BagOfWords()
opt = torch.optim.SGD(model.parameters(), lr=1.0)
criterion = nn.CrossEntropyLoss()
for epoch in range(20):
    loss = criterion(model(docs), cls)
    g = optimise(opt, loss)
    if epoch % 5 == 0:
        print(f"epoch {epoch} loss {loss.item():.6f} grad {g:.4f}")
print("final", criterion(model(docs), cls).item())
