"""Stack Overflow, "Knowledge distillation: KL loss is negative"
Symptom: distillation loss starts below zero and falls, student agrees with the teacher less than without it.
EXPECT: runs
TRUTH: F.kl_div wants log-probabilities as its first argument and gets softmax probabilities. Use log_softmax for the student."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def mlp(w):
    return nn.Sequential(nn.Linear(10, w), nn.ReLU(), nn.Linear(w, 5))


class Distiller:
    def __init__(self, teacher, student, T=2.0):
        self.teacher, self.student, self.T = teacher.eval().requires_grad_(False), student, T
        self.opt = torch.optim.Adam(student.parameters(), lr=5e-3)

    def kd(self, s, t):
        p_s = F.softmax(s / self.T, dim=1)  # CULPRIT
        p_t = F.softmax(t / self.T, dim=1)
        return F.kl_div(p_s, p_t, reduction="batchmean") * self.T ** 2

    def step(self, x):
        with torch.no_grad():
            t = self.teacher(x)
        loss = self.kd(self.student(x), t)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


x = torch.randn(400, 10)
y = x[:, :5].argmax(1)
teacher = mlp(64)
o = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for _ in range(80):
    o.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    o.step()
d = Distiller(teacher, mlp(16))
for it in range(150):
    loss = d.step(x)
    if it % 50 == 0:
        print(it, loss)
with torch.no_grad():
    gap = (d.student(x).softmax(1) - teacher(x).softmax(1)).abs().sum(1).mean().item()
print("loss", loss, "gap to teacher", gap)
