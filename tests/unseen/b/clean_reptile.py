"""GitHub issue (Reptile), "Meta update written into p.data, no outer backward at all"
Symptom: none.
EXPECT: runs
TRUTH: Correct. Reptile moves the weights towards the adapted copy; a meta gradient by autograd is not needed."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
meta = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))


def sample_task():
    phase = torch.rand(1) * 1.0
    amp = 1 + torch.rand(1)
    return lambda n: (lambda x: (x, amp * torch.sin(x + phase)))(torch.rand(n, 1) * 4 - 2)


def adapt(model, task, steps, lr=0.05):
    learner = copy.deepcopy(model)
    opt = torch.optim.SGD(learner.parameters(), lr=lr)
    for _ in range(steps):
        x, y = task(20)
        loss = nn.functional.mse_loss(learner(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return learner


def evaluate(n=20):
    g = 0.0
    for _ in range(n):
        task = sample_task()
        learner = adapt(meta, task, 5)
        x, y = task(50)
        with torch.no_grad():
            g += nn.functional.mse_loss(learner(x), y).item() / n
    return g


print("before", evaluate())
for it in range(100):
    fast = adapt(meta, sample_task(), 8)
    eps = 0.5 * (1 - it / 100)
    for p, q in zip(meta.parameters(), fast.parameters()):
        p.data.add_(eps * (q.data - p.data))
print("loss", evaluate())
