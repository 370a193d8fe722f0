"""Recurrent actor on a small memory task; every step goes into an experience buffer together with the LSTM state.

TRUTH: The LSTM state put into the experience buffer is not detached, so every stored state holds the autograd graph of
all steps since the last reset and the buffer keeps these graphs alive as long as the experience. Symptom: memory grows with
every rollout, some two and a half times as fast as the stored numbers need. Fix: detach the state before storing it. Drawn from Metta-AI/metta#1139.
"""
import resource
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "obs state action reward done logp value")


class CueEnv:
    """The cue of the first step must be repeated at the last one."""

    def __init__(self, n_envs, length, rng):
        self.n, self.length, self.rng = n_envs, length, rng

    def reset(self):
        self.t = 0
        self.cue = self.rng.integers(0, 2, self.n)
        return self._obs()

    def _obs(self):
        o = np.zeros((self.n, 4), dtype=np.float32)
        if self.t == 0:
            o[np.arange(self.n), self.cue] = 1.0
        o[:, 2] = self.t / self.length
        o[:, 3] = float(self.t == self.length - 1)
        return o

    def step(self, action):
        done = self.t == self.length - 1
        reward = (action == self.cue).astype(np.float32) if done else np.zeros(self.n, dtype=np.float32)
        self.t += 1
        return self._obs() if not done else None, reward, done


class RecurrentActorCritic(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.enc = nn.Linear(4, hidden)
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.pi = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)
        self.hidden = hidden

    def initial_state(self, n):
        return torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)

    def forward(self, obs, state):
        h, c = self.lstm(F.relu(self.enc(obs)), state)
        return self.pi(h), self.v(h).squeeze(-1), (h, c)


class Experience:
    def __init__(self, maxlen):
        self.data = deque(maxlen=maxlen)

    def store(self, obs, state, action, reward, done, logp, value):
        lstm_h, lstm_c = state  # CULPRIT
        self.data.append(Transition(obs, (lstm_h, lstm_c), action, reward, done, logp.detach(), value.detach()))  # CULPRIT


def memory_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize() / 2 ** 20


def rollout(env, model, experience, gamma):
    obs = torch.from_numpy(env.reset())
    state = model.initial_state(env.n)
    logps, values, rewards, ents = [], [], [], []
    done = False
    while not done:
        logits, value, next_state = model(obs, state)
        dist = torch.distributions.Categorical(logits=logits)
        action = dist.sample()
        nxt, reward, done = env.step(action.numpy())
        reward = torch.from_numpy(reward)
        logp = dist.log_prob(action)
        experience.store(obs, state, action, reward, done, logp, value)
        logps.append(logp)
        values.append(value)
        rewards.append(reward)
        ents.append(dist.entropy())
        state = next_state
        if not done:
            obs = torch.from_numpy(nxt)
    ret, returns = torch.zeros(env.n), []
    for r in reversed(rewards):
        ret = r + gamma * ret
        returns.insert(0, ret)
    returns, values = torch.stack(returns), torch.stack(values)
    adv = (returns - values).detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    pg = -(adv * torch.stack(logps)).mean()
    loss = pg + 0.5 * F.mse_loss(values, returns) - 0.01 * torch.stack(ents).mean()
    return loss, rewards[-1].mean().item()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env = CueEnv(n_envs=16, length=6, rng=rng)
    model = RecurrentActorCritic()
    experience = Experience(maxlen=5000)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    score, base = 0.5, None
    for it in range(1, 241):
        loss, r = rollout(env, model, experience, gamma=0.95)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        score = 0.9 * score + 0.1 * r
        if it % 60 == 0:
            base = base or memory_mb()
            print(f"iter {it:3d} score {score:.3f} stored {len(experience.data)} memory +{memory_mb() - base:.1f} MB")


if __name__ == "__main__":
    main()
