"""discuss.pytorch.org, "Gradual unfreezing: add_param_group after some epochs"
Symptom: none, asker sees requires_grad toggled in the middle of the training.
EXPECT: runs
TRUTH: Correct. When the backbone is unfrozen its parameters are added to the optimizer with a smaller rate, so both learn."""
import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU())
head = nn.Linear(20, 1)
backbone.requires_grad_(False)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
x = torch.randn(300, 10)
y = (x[:, :1] * x[:, 1:2]).tanh()


def unfreeze():
    backbone.requires_grad_(True)
    optimizer.add_param_group({"params": backbone.parameters(), "lr": 3e-3})


def run(epochs):
    for _ in range(epochs):
        for idx in torch.randperm(300).split(50):
            loss = nn.functional.smooth_l1_loss(head(backbone(x[idx])), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


start = backbone[0].weight.clone()
print("head only", run(20))
assert torch.equal(start, backbone[0].weight)
unfreeze()
print("loss", run(60), "moved", (backbone[0].weight - start).norm().item())
