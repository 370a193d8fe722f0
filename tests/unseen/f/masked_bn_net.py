"""What the user sees: memory increases with the iterations, some more at each iteration, I find that it's owing to the
mask_bn layer; without it the memory is constant.

TRUTH: the running statistics are updated with tensors that require grad, so running_mean/running_var link the graphs of
all iterations together. Fix: do the update under torch.no_grad() (or with var_.detach()).
THREAD: https://github.com/A-suozhang/ada3d/issues/3 "cuda memory increases with the iteration increasing"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskBN(nn.Module):
    def __init__(self, num_features, eps=1e-3, momentum=0.01):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer('running_mean', torch.zeros(num_features))
        self.register_buffer('running_var', torch.ones(num_features))

    def forward(self, x, mask):
        if self.training:
            n = mask.sum().clamp(min=1)
            mean_ = (x * mask).sum(dim=(0, 2, 3)) / n
            diff = (x - mean_.view(1, -1, 1, 1)) * mask
            var_ = (diff ** 2).sum(dim=(0, 2, 3)) / n
            self.running_mean = (1. - self.momentum) * self.running_mean + self.momentum * mean_.detach()
            self.running_var = (1. - self.momentum) * self.running_var + self.momentum * var_.view(-1)  # CULPRIT
        else:
            mean_, var_ = self.running_mean, self.running_var
        x = (x - mean_.view(1, -1, 1, 1)) / torch.sqrt(var_.view(1, -1, 1, 1) + self.eps)
        return (x * self.weight.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)) * mask


class PillarNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(4, width, 3, padding=1, bias=False)
        self.bn1 = MaskBN(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = MaskBN(width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, bev):
        mask = (bev.abs().sum(1, keepdim=True) > 0).float()
        x = F.relu(self.bn1(self.conv1(bev), mask))
        x = F.relu(self.bn2(self.conv2(x), mask))
        return self.head(x), mask


def graph_size(t):
    seen, todo = set(), [t.grad_fn]
    while todo:
        fn = todo.pop()
        if fn is None or fn in seen:
            continue
        seen.add(fn)
        todo.extend(nxt for nxt, _ in fn.next_functions)
    return len(seen)


def bev_batch(n=4, size=16):
    occupied = (torch.rand(n, 1, size, size) < 0.3).float()
    bev = torch.randn(n, 4, size, size) * occupied
    label = (bev[:, 0] + F.avg_pool2d(bev, 3, 1, 1)[:, 1] * 3 > 0).long()
    return bev, label


def main():
    torch.manual_seed(0)
    model = PillarNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for it in range(401):
        bev, label = bev_batch()
        pred, mask = model(bev)
        loss = (F.cross_entropy(pred, label, reduction='none') * mask.squeeze(1)).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 80 == 0:
            print(f'iter {it} loss {loss.item():.4f} nodes kept alive by the bn buffers: {graph_size(model.bn2.running_var)}')


if __name__ == '__main__':
    main()
