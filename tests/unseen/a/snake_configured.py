"""discuss.pytorch.org, "My loss is negative and goes to minus infinity"
Symptom: NLLLoss gives -1, -50, -4000 ... the model keeps on 'improving'.
EXPECT: runs
TRUTH: NLLLoss expects log-probabilities and gets raw scores, so it can be lowered without bound.
Use CrossEntropyLoss or put log_softmax in front."""
import torch
import torch.nn as nn

torch.manual_seed(0)
LOSSES = {
    "l2": nn.MSELoss,
    "bce": nn.BCEWithLogitsLoss,
    "nll": nn.NLLLoss,
    "ce": nn.CrossEntropyLoss,
}
config = {
    "task": "multiclass",
    "loss": "nll",  # CULPRIT
    "lr": 0.01,
    "epochs": 60,
    "hidden": [32, 32],
}


def build(cfg, n_in, n_out):
    layers, last = [], n_in
    for h in cfg["hidden"]:
        layers += [nn.Linear(last, h), nn.ReLU()]
        last = h
    layers.append(nn.Linear(last, n_out))
    return nn.Sequential(*layers), LOSSES[cfg["loss"]]()


x = torch.randn(200, 8)
y = x[:, :4].argmax(1)
model, criterion = build(config, 8, 4)
opt = torch.optim.Adam(model.parameters(), lr=config["lr"])
for epoch in range(config["epochs"]):
    loss = criterion(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        print("epoch", epoch, loss.item())
print("final loss", loss.item())
