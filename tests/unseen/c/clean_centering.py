"""GitHub issue (DINO), "Center buffer is updated in place between forward and backward, why no error?"
Symptom: none.
EXPECT: runs
TRUTH: Correct. The centre takes part only in the teacher's branch, which has no graph, so nothing that backward needs is changed."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)


class DINOLoss(nn.Module):
    def __init__(self, k, ts=0.2, tt=0.1, m=0.9):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, k))
        self.ts, self.tt, self.m = ts, tt, m

    def forward(self, s, t):
        target = ((t - self.center) / self.tt).softmax(-1).detach()
        loss = -(target * (s / self.ts).log_softmax(-1)).sum(-1).mean()
        self.update(t)
        return loss

    @torch.no_grad()
    def update(self, t):
        self.center.mul_(self.m).add_(t.mean(0, keepdim=True), alpha=1 - self.m)


cls = torch.randint(0, 4, (200,))
x = 2 * torch.randn(4, 10)[cls] + 0.3 * torch.randn(200, 10)
student = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 8))
teacher = copy.deepcopy(student).requires_grad_(False)
crit = DINOLoss(8)
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
for it in range(150):
    a, b = x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x)
    with torch.no_grad():
        ta = teacher(a)
    loss = crit(student(b), ta)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(student.parameters(), teacher.parameters()):
            q.lerp_(p, 0.02)
    if it % 50 == 0:
        print(it, loss.item())
code = student(x).argmax(1)
print("loss", loss.item(), "codes in use", code.unique().numel())
