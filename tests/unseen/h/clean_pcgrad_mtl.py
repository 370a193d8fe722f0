"""CORRECT. Gradient surgery: one backward per objective with retain_graph, conflicting parts projected away, the merged vectors written into p.grad by hand.
THREAD: https://github.com/WeiChengTseng/Pytorch-PCGrad
"""
import copy
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class PCGrad:
    def __init__(self, optimizer, reduction='mean'):
        self._optim, self._reduction = optimizer, reduction

    @property
    def optimizer(self):
        return self._optim

    def zero_grad(self):
        return self._optim.zero_grad(set_to_none=True)

    def step(self):
        return self._optim.step()

    def pc_backward(self, objectives):
        grads, shapes, has_grads = self._pack_grad(objectives)
        pc_grad = self._project_conflicting(grads, has_grads)
        pc_grad = self._unflatten_grad(pc_grad, shapes[0])
        self._set_grad(pc_grad)

    def _project_conflicting(self, grads, has_grads):
        shared = torch.stack(has_grads).prod(0).bool()
        pc_grad = copy.deepcopy(grads)
        for g_i in pc_grad:
            random.shuffle(grads)
            for g_j in grads:
                g_i_g_j = torch.dot(g_i, g_j)
                if g_i_g_j < 0:
                    g_i -= g_i_g_j * g_j / (g_j.norm() ** 2)
        merged_grad = torch.zeros_like(grads[0])
        if self._reduction == 'mean':
            merged_grad[shared] = torch.stack([g[shared] for g in pc_grad]).mean(dim=0)
        else:
            merged_grad[shared] = torch.stack([g[shared] for g in pc_grad]).sum(dim=0)
        merged_grad[~shared] = torch.stack([g[~shared] for g in pc_grad]).sum(dim=0)
        return merged_grad

    def _set_grad(self, grads):
        idx = 0
        for group in self._optim.param_groups:
            for p in group['params']:
                p.grad = grads[idx]
                idx += 1

    def _pack_grad(self, objectives):
        grads, shapes, has_grads = [], [], []
        for obj in objectives:
            self._optim.zero_grad(set_to_none=True)
            obj.backward(retain_graph=True)
            grad, shape, has_grad = self._retrieve_grad()
            grads.append(torch.cat([g.flatten() for g in grad]))
            has_grads.append(torch.cat([g.flatten() for g in has_grad]))
            shapes.append(shape)
        return grads, shapes, has_grads

    def _unflatten_grad(self, grads, shapes):
        out, idx = [], 0
        for shape in shapes:
            length = int(np.prod(shape))
            out.append(grads[idx:idx + length].view(shape).clone())
            idx += length
        return out

    def _retrieve_grad(self):
        grad, shape, has_grad = [], [], []
        for group in self._optim.param_groups:
            for p in group['params']:
                shape.append(p.shape)
                if p.grad is None:
                    grad.append(torch.zeros_like(p))
                    has_grad.append(torch.zeros_like(p))
                    continue
                grad.append(p.grad.clone())
                has_grad.append(torch.ones_like(p))
        return grad, shape, has_grad


class MultiHeadNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.head1 = nn.Linear(24, 1)
        self.head2 = nn.Linear(24, 4)

    def forward(self, x):
        feat = self.shared(x)
        return self.head1(feat).squeeze(-1), self.head2(feat)


W = torch.randn(12, 4)
v = torch.randn(12)


def batch(n):
    x = torch.randn(n, 12)
    return x, torch.tanh(x @ v), (x @ W).argmax(1)


net = MultiHeadNet()
optimizer = PCGrad(torch.optim.Adam(net.parameters(), lr=3e-3))
for step in range(1, 301):
    x, y1, y2 = batch(64)
    o1, o2 = net(x)
    losses = [3 * F.mse_loss(o1, y1), F.cross_entropy(o2, y2)]
    optimizer.pc_backward(losses)
    optimizer.step()
    if step % 75 == 0:
        print('step %d mse %.4f ce %.4f acc %.3f' % (
            step, losses[0].item() / 3, losses[1].item(), (o2.argmax(1) == y2).float().mean().item()))
