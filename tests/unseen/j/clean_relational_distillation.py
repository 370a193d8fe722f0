# kind: inf_acos_at_boundary
"""Distil the angles between embeddings of a wide network into a narrow one."""
import torch
from torch import nn
import torch.nn.functional as F


def encoder(inp, hidden, out):
    return nn.Sequential(nn.Linear(inp, hidden), nn.ReLU(), nn.Linear(hidden, out))


def pairwise_angles(z):
    """Angle between every two embeddings of a batch."""
    unit = F.normalize(z, dim=-1)
    cosine = unit @ unit.t()
    return torch.acos(cosine.clamp(-1.0 + 1e-4, 1.0 - 1e-4))


class AngleDistillation(nn.Module):
    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = weight

    def forward(self, student_z, teacher_z):
        with torch.no_grad():
            target = pairwise_angles(teacher_z)
        gap = F.smooth_l1_loss(pairwise_angles(student_z), target, reduction="none")
        off_diagonal = 1.0 - torch.eye(len(gap))
        return self.weight * (gap * off_diagonal).sum() / off_diagonal.sum()


class Classifier(nn.Module):
    def __init__(self, hidden, dim=16, n_classes=4):
        super().__init__()
        self.encoder = encoder(10, hidden, dim)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        z = self.encoder(x)
        return self.head(F.relu(z)), z


def blobs(n, centers):
    y = torch.randint(len(centers), (n,))
    return centers[y] + torch.randn(n, centers.size(1)), y


def fit(model, batches, extra=None):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    history = []
    for x, y in batches:
        logits, z = model(x)
        loss = F.cross_entropy(logits, y)
        if extra is not None:
            loss = loss + extra(x, z)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(round(loss.item(), 3))
    return history


torch.manual_seed(0)
centers = 1.2 * torch.randn(4, 10)
teacher = Classifier(hidden=128)
print("teacher", fit(teacher, (blobs(64, centers) for _ in range(150)))[::30])
teacher.eval().requires_grad_(False)

distil = AngleDistillation()
student = Classifier(hidden=24)
losses = fit(student, (blobs(64, centers) for _ in range(150)), lambda x, z: distil(z, teacher(x)[1]))
print("student", losses[::30])
x, y = blobs(1000, centers)
with torch.no_grad():
    print("student accuracy", (student(x)[0].argmax(1) == y).float().mean().item())
