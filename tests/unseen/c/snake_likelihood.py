"""Stack Overflow, "Negative log likelihood of long sequences is constant 69.07755 and gradient 0"
Symptom: short sequences train, for T=200 the loss is the same number always.
EXPECT: runs
TRUTH: The product of 200 probabilities underflows to 0 in float32, the added epsilon hides it, and the gradient is 0. Sum log-probabilities instead."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Markov(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(k, 16), nn.Linear(16, k))

    def step_probs(self, seq):
        p = self.net(seq[:, :-1]).softmax(-1)
        return p.gather(-1, seq[:, 1:].unsqueeze(-1)).squeeze(-1)


def sequence_log_likelihood(probs):
    joint = probs.prod(dim=1)  # CULPRIT
    return torch.log(joint + 1e-30)


def sample(n, t, k=5):
    s = torch.zeros(n, t, dtype=torch.long)
    s[:, 0] = torch.randint(0, k, (n,))
    for i in range(1, t):
        jump = (torch.rand(n) < 0.2).long() * torch.randint(1, k, (n,))
        s[:, i] = (s[:, i - 1] + 1 + jump) % k
    return s


data = sample(32, 200)
model = Markov(5)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(100):
    probs = model.step_probs(data)
    loss = -sequence_log_likelihood(probs).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(it, loss.item())
print("loss", loss.item(), "mean step prob", probs.mean().item())
