"""GitHub issue (stable-baselines3), "Double DQN: target computed under no_grad and polyak update with .data"
Symptom: none.
EXPECT: runs
TRUTH: Correct. Targets must be constants; the target net follows by polyak averaging in place."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
N_STATES, GAMMA = 6, 0.9


def env_step(s, a):
    s2 = (s + torch.where(a == 1, 1, -1)).clamp(0, N_STATES - 1)
    r = (s2 == N_STATES - 1).float()
    return s2, r, r.clone()


q = nn.Sequential(nn.Embedding(N_STATES, 16), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
q_target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=3e-3)


def polyak(tau=0.05):
    for p, t in zip(q.parameters(), q_target.parameters()):
        t.data.mul_(1 - tau)
        t.data.add_(tau * p.data)


for it in range(500):
    s = torch.randint(0, N_STATES - 1, (64,))
    a = torch.randint(0, 2, (64,))
    s2, r, done = env_step(s, a)
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        target = r + GAMMA * (1 - done) * q_target(s2).gather(1, best).squeeze(1)
    pred = q(s)[torch.arange(64), a]
    loss = nn.functional.smooth_l1_loss(pred, target)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 1.0)
    opt.step()
    polyak()
    if it % 150 == 0:
        print(it, loss.item())
print("loss", loss.item(), "policy", q(torch.arange(N_STATES - 1)).argmax(1).tolist())
