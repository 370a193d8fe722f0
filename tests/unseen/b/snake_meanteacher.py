"""GitHub issue (semi-supervised repo), "Mean teacher: teacher accuracy stays at initial value"
Symptom: the consistency loss rises while the student learns, the teacher never changes.
EXPECT: runs
TRUTH: The EMA update rebinds the local name p_t to a new tensor, the teacher's parameter is not written. Update in place
(p_t.mul_(m).add_(...) or p_t.copy_)."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=1e-2)


def update_teacher(m=0.9):
    with torch.no_grad():
        for p_s, p_t in zip(student.parameters(), teacher.parameters()):
            p_t = m * p_t + (1 - m) * p_s  # CULPRIT


def consistency(x):
    with torch.no_grad():
        goal = teacher(x + 0.1 * torch.randn_like(x)).softmax(1)
    return (student(x + 0.1 * torch.randn_like(x)).softmax(1) - goal).pow(2).mean()


def accuracy(net, x, y):
    return (net(x).argmax(1) == y).float().mean().item()


xl, xu = torch.randn(60, 8), torch.randn(600, 8)
rule = torch.randn(8)
yl, yu = (xl @ rule > 0).long(), (xu @ rule > 0).long()
for it in range(120):
    sup = nn.functional.cross_entropy(student(xl), yl)
    con = consistency(xu)
    loss = sup + 2.0 * con
    opt.zero_grad()
    loss.backward()
    opt.step()
    update_teacher()
    if it % 40 == 0:
        print(it, sup.item(), con.item())
print("loss", loss.item(), "student", accuracy(student, xu, yu), "teacher", accuracy(teacher, xu, yu))
