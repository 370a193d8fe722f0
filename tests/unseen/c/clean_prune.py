"""GitHub issue (pruning repo), "Gradient hook masks pruned weights, weights are zeroed in place by mask"
Symptom: none, asker worries about p.data.mul_.
EXPECT: runs
TRUTH: Correct. The mask zeroes weights once outside the graph and the hook keeps them at zero by masking their gradients."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Pruner:
    def __init__(self, model, keep):
        self.masks, self.handles = {}, []
        for name, p in model.named_parameters():
            if p.dim() < 2:
                continue
            k = max(1, int(keep * p.numel()))
            cut = p.detach().abs().flatten().kthvalue(p.numel() - k + 1).values
            mask = (p.detach().abs() >= cut).float()
            p.data.mul_(mask)
            self.masks[name] = mask
            self.handles.append(p.register_hook(mask.mul))

    def sparsity(self, model):
        w = [p for p in model.parameters() if p.dim() > 1]
        return sum((p == 0).sum().item() for p in w) / sum(p.numel() for p in w)


def train(model, x, y, steps):
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


x = torch.randn(300, 10)
y = x[:, :4].argmax(1)
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
print("dense", train(net, x, y, 60))
pruner = Pruner(net, 0.3)
print("pruned", nn.functional.cross_entropy(net(x), y).item())
print("loss", train(net, x, y, 100), "sparsity", pruner.sparsity(net))
