"""discuss.pytorch.org, "MAML: meta parameters have grad None after outer loss.backward()"
Symptom: outer loss constant, the meta optimizer changes nothing, no error.
EXPECT: runs
TRUTH: The adapted weights are detached and made new leaves in the inner loop, so the outer loss is not connected to the
meta parameters. Keep fast = w - lr * g in the graph (with create_graph for second order)."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)


def init(sizes=(1, 24, 1)):
    ps = []
    for a, b in zip(sizes, sizes[1:]):
        ps += [(torch.randn(b, a) / a ** 0.5).requires_grad_(), torch.zeros(b, requires_grad=True)]
    return ps


def net(x, ps):
    h = torch.tanh(F.linear(x, ps[0], ps[1]))
    return F.linear(h, ps[2], ps[3])


def task():
    amp, ph = torch.rand(1) * 2 + 1, torch.rand(1) * 0.5
    xs, xq = torch.rand(10, 1) * 4 - 2, torch.rand(20, 1) * 4 - 2
    return xs, amp * torch.sin(xs + ph), xq, amp * torch.sin(xq + ph)


def adapt(ps, x, y, lr=0.05, steps=2):
    fast = list(ps)
    for _ in range(steps):
        g = torch.autograd.grad(F.mse_loss(net(x, fast), y), fast, create_graph=True)
        fast = [(w - lr * d).detach().requires_grad_() for w, d in zip(fast, g)]  # CULPRIT
    return fast


meta = init()
opt = torch.optim.Adam(meta, lr=1e-2)
hist = []
for it in range(150):
    loss = 0.0
    for _ in range(3):
        xs, ys, xq, yq = task()
        loss = loss + F.mse_loss(net(xq, adapt(meta, xs, ys)), yq) / 3
    opt.zero_grad()
    loss.backward()
    opt.step()
    hist.append(loss.item())
print("loss first 20", sum(hist[:20]) / 20, "last 20", sum(hist[-20:]) / 20)
