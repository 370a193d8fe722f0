"""Stack Overflow, "Gradient descent by hand: w -= lr * w.grad in no_grad and w.grad = None"
Symptom: none, asker was told that in-place changes of leaves are forbidden.
EXPECT: runs
TRUTH: Correct. The in-place update is done under no_grad, and the gradients are reset each time."""
import torch

torch.manual_seed(0)
x = torch.linspace(-3, 3, 200).unsqueeze(1)
y = torch.sin(x) + 0.05 * torch.randn_like(x)
w1 = torch.randn(1, 20, requires_grad=True)
b1 = torch.zeros(20, requires_grad=True)
w2 = (torch.randn(20, 1) * 0.2).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
params = [w1, b1, w2, b2]
velocity = [torch.zeros_like(p) for p in params]


def forward(inp):
    return torch.tanh(inp @ w1 + b1).mm(w2).add(b2)


def update(lr, mu):
    with torch.no_grad():
        for p, v in zip(params, velocity):
            v.mul_(mu).add_(p.grad)
            p -= lr * v
            p.grad = None


for i in range(600):
    loss = (forward(x) - y).square().mean()
    loss.backward()
    update(0.02, 0.9)
    if i % 200 == 0:
        print(i, loss.item())
print("loss", loss.item())
