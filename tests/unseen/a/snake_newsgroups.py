"""Stack Overflow, "NLLLoss with log_softmax: loss larger than log(n_classes) after training"
Symptom: 4 classes, the loss does not go below about 2.8 although the data is easy and the accuracy is not bad.
EXPECT: runs
TRUTH: log_softmax normalises over dim=0, the batch, so the scores of the classes of one document are not
normalised against each other. Use dim=1."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class DocNet(nn.Module):
    def __init__(self, v, c):
        super().__init__()
        self.fc1 = nn.Linear(v, 32)
        self.fc2 = nn.Linear(32, c)
        self.logp = nn.LogSoftmax(dim=0)  # CULPRIT

    def forward(self, x):
        return self.logp(self.fc2(torch.relu(self.fc1(x))))


def tfidf(n):
    y = torch.multinomial(torch.tensor([0.7, 0.1, 0.1, 0.1]), n, replacement=True)
    x = torch.rand(n, 40)
    for i, c in enumerate(y):
        x[i, c * 10:c * 10 + 10] += 0.25
    return x, y


x, y = tfidf(400)
model = DocNet(40, 4)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.NLLLoss()
for epoch in range(30):
    for idx in torch.randperm(400).split(40):
        loss = loss_fn(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    acc = (model(x).argmax(1) == y).float().mean().item()
print("loss", loss.item(), "acc", acc)
