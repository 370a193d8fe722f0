"""Coordinates three warehouse robots with recurrent Q-agents and a replay buffer of whole episodes.

TRUTH: EpisodeRunner.run puts the agents' action weights of every step into the episode batch while they still carry
their graph (the recurrent hidden state chains it over the whole episode), and the replay buffer keeps them. The learner
only needs their numbers, so training looks right, but every stored episode holds the full graph of its rollout: memory
grows by several MB per episode until the buffer is full. Fix: detach the actions before storing them (or roll out
under torch.no_grad()). Drawn from oxwhirl/pymarl#73.
"""
import argparse
import random
import resource
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F

AGENTS, N_OBS, N_ACT, T = 3, 6, 4, 20


class Warehouse:
    """Each robot sees its offset to a drop-off; the team is paid when robots stand on their spots."""

    def __init__(self, lanes):
        self.lanes = lanes

    def reset(self):
        self.pos = torch.randint(-3, 4, (self.lanes, AGENTS, 2)).float()
        return self.obs()

    def obs(self):
        ident = torch.eye(AGENTS).expand(self.lanes, -1, -1)
        dist = self.pos.abs().sum(-1, keepdim=True)
        return torch.cat([self.pos / 3, dist / 6, ident], -1)

    def step(self, action):
        move = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])[action]
        self.pos = (self.pos + move).clamp(-4, 4)
        return self.obs(), 1.0 - self.pos.abs().sum((1, 2)) / (8 * AGENTS)


class RNNAgent(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.fc1 = nn.Linear(N_OBS, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, N_ACT)

    def forward(self, obs, h):
        x = torch.relu(self.fc1(obs.reshape(-1, N_OBS)))
        h = self.rnn(x, h)
        return self.fc2(h).view(*obs.shape[:-1], N_ACT), h


class SoftSelector:
    def __init__(self, start=2.0, finish=0.1, anneal=40):
        self.start, self.finish, self.anneal = start, finish, anneal

    def select(self, q, episode):
        temp = max(self.finish, self.start - (self.start - self.finish) * episode / self.anneal)
        return F.gumbel_softmax(q / temp, tau=1.0, dim=-1)


class EpisodeRunner:
    def __init__(self, env, agent, selector):
        self.env, self.agent, self.selector = env, agent, selector

    def run(self, episode):
        obs, h = self.env.reset(), torch.zeros(self.env.lanes * AGENTS, self.agent.hidden)
        batch = {"obs": [obs], "actions": [], "reward": []}
        for _ in range(T):
            q, h = self.agent(obs, h)
            actions = self.selector.select(q, episode)
            obs, reward = self.env.step(actions.argmax(-1))
            batch["obs"].append(obs)
            batch["actions"].append(actions)  # CULPRIT
            batch["reward"].append(reward)
        return batch


class Learner:
    def __init__(self, agent, gamma=0.9, lr=2e-3):
        self.agent, self.gamma = agent, gamma
        self.opt = torch.optim.RMSprop(agent.parameters(), lr=lr)

    def train(self, batch):
        h = torch.zeros(batch["obs"][0].shape[0] * AGENTS, self.agent.hidden)
        qs = []
        for obs in batch["obs"]:
            q, h = self.agent(obs, h)
            qs.append(q)
        qs = torch.stack(qs)
        taken = torch.stack([a.argmax(-1) for a in batch["actions"]])
        chosen = qs[:-1].gather(-1, taken[..., None]).squeeze(-1).sum(-1)
        best = qs[1:].detach().max(-1).values.sum(-1)
        target = torch.stack(batch["reward"]) + self.gamma * best
        loss = F.mse_loss(chosen, target)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), 10.0)
        self.opt.step()
        return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=80)
    ap.add_argument("--lanes", type=int, default=16)
    ap.add_argument("--hidden", type=int, default=128)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    agent = RNNAgent(args.hidden)
    runner = EpisodeRunner(Warehouse(args.lanes), agent, SoftSelector())
    learner, buffer = Learner(agent), deque(maxlen=500)
    for episode in range(1, args.episodes + 1):
        buffer.append(runner.run(episode))
        losses = [learner.train(random.choice(buffer)) for _ in range(2)]
        if episode % 10 == 0:
            pay = torch.stack(buffer[-1]["reward"]).mean().item()
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"episode {episode:3d} loss {sum(losses) / 2:.4f} mean pay {pay:.3f} memory {rss:.0f} MB")


if __name__ == "__main__":
    main()
