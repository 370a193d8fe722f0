"""Stack Overflow, "element 0 of tensors does not require grad - custom accuracy loss"
Symptom: wanted to optimise 1 - accuracy directly, backward raises.
EXPECT: raises RuntimeError
TRUTH: argmax and == are not differentiable, so the graph ends there. Train on a differentiable
surrogate (cross entropy on the logits) and keep the accuracy as a metric only."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 16)
        self.l2 = nn.Linear(16, 3)

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))


class ErrorRate(nn.Module):
    def forward(self, logits, y):
        pred = logits.argmax(dim=1)  # CULPRIT
        wrong = (pred != y).float()
        return wrong.mean()


iris_x = torch.randn(150, 4)
iris_y = iris_x[:, :3].argmax(1)
model = Classifier()
loss_fn = ErrorRate()
opt = torch.optim.Adam(model.parameters())

for epoch in range(20):
    opt.zero_grad()
    out = model(iris_x)
    loss = loss_fn(out, iris_y)
    print("epoch", epoch, "loss", loss.item())
    loss.backward()
    opt.step()
