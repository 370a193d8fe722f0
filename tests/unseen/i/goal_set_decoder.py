"""WRONG. The goals_2D_mlps of the goal decoder has no gradient during training (its parameters keep grad None), the rest of the decoder learns.
TRUTH: the encoded goals are detached before the cross attention and the scoring; the detach is redundant and has to go.
THREAD: https://github.com/Tsinghua-MARS-Lab/DenseTNT/issues/11
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class PointMLP(nn.Module):
    def __init__(self, hidden_size, in_features=2):
        super().__init__()
        self.layer_0 = nn.Linear(in_features, hidden_size)
        self.layer_1 = nn.Linear(hidden_size, hidden_size)

    def forward(self, x):
        return self.layer_1(F.relu(self.layer_0(x)))


class CrossAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)

    def forward(self, q, kv):
        s = self.query(q) @ self.key(kv).transpose(-1, -2) / q.size(-1) ** 0.5
        return F.softmax(s, dim=-1) @ self.value(kv)


class Decoder(nn.Module):
    def __init__(self, hidden_size=16):
        super().__init__()
        self.goals_2D_mlps = PointMLP(hidden_size)
        self.goals_2D_cross_attention = CrossAttention(hidden_size)
        self.goals_2D_decoder = nn.Sequential(
            nn.Linear(hidden_size * 3, hidden_size), nn.ReLU(), nn.Linear(hidden_size, 1))

    def get_scores(self, goals_2D, inputs, inputs_hidden):
        goals_2D_hidden = self.goals_2D_mlps(goals_2D)
        goals_2D_hidden = goals_2D_hidden.detach()  # CULPRIT
        attention = self.goals_2D_cross_attention(goals_2D_hidden, inputs)
        ctx = inputs_hidden.unsqueeze(1).expand_as(goals_2D_hidden)
        li = [ctx, goals_2D_hidden, attention]
        scores = self.goals_2D_decoder(torch.cat(li, dim=-1)).squeeze(-1)
        return F.log_softmax(scores, dim=-1)


class VectorNet(nn.Module):
    def __init__(self, hidden_size=16):
        super().__init__()
        self.sub_graph = PointMLP(hidden_size, 4)
        self.decoder = Decoder(hidden_size)

    def forward(self, agents, goals_2D):
        inputs = self.sub_graph(agents)
        return self.decoder.get_scores(goals_2D, inputs, inputs.max(dim=1)[0])


def make_batch(n=64, n_goals=20):
    pos = torch.randn(n, 2)
    vel = torch.randn(n, 2)
    t = torch.linspace(-1, 0, 6).view(1, 6, 1)
    agents = torch.cat([pos.unsqueeze(1) + vel.unsqueeze(1) * t, vel.unsqueeze(1).expand(n, 6, 2)], -1)
    goals = torch.randn(n, n_goals, 2) * 2
    label = (goals - (pos + vel).unsqueeze(1)).pow(2).sum(-1).argmin(1)
    return agents, goals, label


model = VectorNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(800):
    agents, goals, label = make_batch()
    loss = F.nll_loss(model(agents, goals), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 199:
        print('step', step, 'goal loss %.4f' % loss.item())
agents, goals, label = make_batch(1000)
with torch.no_grad():
    print('goal accuracy', (model(agents, goals).argmax(1) == label).float().mean().item())
print('grad of goals_2D_mlps', model.decoder.goals_2D_mlps.layer_0.weight.grad is not None)
