"""Stack Overflow, "Closures in a loop: hooks for each layer with a default argument"
Symptom: none, asker read about late binding.
EXPECT: runs
TRUTH: Correct. Each hook binds its factor by a default argument, so every layer's gradient is scaled by its own one."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def layerwise(model, decay):
    layers = [m for m in model if isinstance(m, nn.Linear)]
    handles, seen = [], {}
    for depth, layer in enumerate(reversed(layers)):
        scale = decay ** depth
        for p in layer.parameters():
            handles.append(p.register_hook(lambda g, s=scale: g * s))
        layer.register_forward_hook(lambda m, i, o, d=depth: seen.__setitem__(d, o.detach().std().item()))
    return handles, seen


net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
handles, seen = layerwise(net, 0.5)
x = torch.randn(200, 6)
y = (x[:, :1] - x[:, 1:2]).abs()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for it in range(150):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item(), {k: round(v, 2) for k, v in seen.items()})
for h in handles:
    h.remove()
print("loss", loss.item())
