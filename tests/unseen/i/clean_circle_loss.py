"""CORRECT. Circle loss: the weights alpha_p and alpha_n are computed from detached similarities, so they scale the gradient without being differentiated (asked what the detaching of sp and sn means; it is as in the paper).
THREAD: https://github.com/TinyZeaMays/CircleLoss/issues/28
"""
import torch
from torch import nn, Tensor
from typing import Tuple
import torch.nn.functional as F

torch.manual_seed(0)


def convert_label_to_similarity(normed_feature: Tensor, label: Tensor) -> Tuple[Tensor, Tensor]:
    similarity_matrix = normed_feature @ normed_feature.transpose(1, 0)
    label_matrix = label.unsqueeze(1) == label.unsqueeze(0)

    positive_matrix = label_matrix.triu(diagonal=1)
    negative_matrix = label_matrix.logical_not().triu(diagonal=1)

    similarity_matrix = similarity_matrix.view(-1)
    positive_matrix = positive_matrix.view(-1)
    negative_matrix = negative_matrix.view(-1)
    return similarity_matrix[positive_matrix], similarity_matrix[negative_matrix]


class CircleLoss(nn.Module):
    def __init__(self, m: float, gamma: float) -> None:
        super(CircleLoss, self).__init__()
        self.m = m
        self.gamma = gamma
        self.soft_plus = nn.Softplus()

    def forward(self, sp: Tensor, sn: Tensor) -> Tensor:
        ap = torch.clamp_min(- sp.detach() + 1 + self.m, min=0.)
        an = torch.clamp_min(sn.detach() + self.m, min=0.)

        delta_p = 1 - self.m
        delta_n = self.m

        logit_p = - ap * (sp - delta_p) * self.gamma
        logit_n = an * (sn - delta_n) * self.gamma

        loss = self.soft_plus(torch.logsumexp(logit_n, dim=0) + torch.logsumexp(logit_p, dim=0))
        return loss


class Embedder(nn.Module):
    def __init__(self, in_dim=16, out_dim=8):
        super().__init__()
        self.extractor = nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, out_dim))

    def forward(self, inp):
        return F.normalize(self.extractor(inp))


gen = torch.Generator().manual_seed(5)
PROTO = torch.randn(6, 16, generator=gen)


def people(n):
    label = torch.randint(0, 6, (n,))
    light = torch.randn(n, 1)
    return PROTO[label] + 0.8 * torch.randn(n, 16) + light, label


def recall_at_1(model, n=300):
    with torch.no_grad():
        x, y = people(n)
        sim = model(x) @ model(x).t()
        sim.fill_diagonal_(-2)
        return (y[sim.argmax(1)] == y).float().mean().item()


model = Embedder()
criterion = CircleLoss(m=0.25, gamma=32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, weight_decay=1e-5)
print('before: recall@1 %.3f' % recall_at_1(model))
for step in range(600):
    img, label = people(48)
    pred = model(img)
    loss = criterion(*convert_label_to_similarity(pred, label))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 150 == 149:
        print('step %d loss %.4f' % (step + 1, loss.item()))
print('after: recall@1 %.3f' % recall_at_1(model))
