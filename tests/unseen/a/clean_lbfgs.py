"""Stack Overflow, "LBFGS needs a closure - the loss is evaluated many times per step, is that fine?"
Symptom: none, asker counts 20 backward calls for one optimizer.step.
EXPECT: runs
TRUTH: Correct. LBFGS calls the closure repeatedly; the closure zeroes, computes the loss, runs backward and returns it."""
import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 80).unsqueeze(1)
y = torch.cos(4 * x) * torch.exp(-x)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=10, history_size=10, line_search_fn="strong_wolfe")
calls = {"n": 0}


def l2():
    return 1e-6 * sum((p ** 2).sum() for p in net.parameters())


def closure():
    calls["n"] += 1
    opt.zero_grad()
    objective = nn.functional.mse_loss(net(x), y) + l2()
    objective.backward()
    return objective


for step in range(25):
    loss = opt.step(closure)
    if step % 8 == 0:
        print(step, loss.item(), calls["n"])
print("loss", closure().item())
