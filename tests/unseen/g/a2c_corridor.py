"""WRONG. A2C converges slowly; in the debugger the advantage tensor turned out to be 128 x 128.
TRUTH: vals_ref_v has shape [B] and value_v [B, 1], the subtraction broadcasts to [B, B] so every action is judged by all samples' advantages; squeeze the value: vals_ref_v - value_v.squeeze(-1).detach().
THREAD: https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/74
"""
import collections
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

GAMMA = 0.97
LEARNING_RATE = 0.004
ENTROPY_BETA = 0.01
BATCH_SIZE = 64
NUM_ENVS = 8
REWARD_STEPS = 4
CLIP_GRAD = 0.5

Experience = collections.namedtuple('Experience', 'state action reward last_state')


class Corridor:
    """Key and door: run left for the key, then right for the door."""

    def __init__(self, rng, length=7, limit=40):
        self.rng, self.length, self.limit = rng, length, limit

    def obs(self):
        o = np.zeros(self.length + 1, dtype=np.float32)
        o[self.pos] = 1
        o[-1] = self.key
        return o

    def reset(self):
        self.pos, self.key, self.t = int(self.rng.integers(1, self.length - 1)), 0.0, 0
        return self.obs()

    def step(self, a):
        self.t += 1
        self.pos = min(max(self.pos + (1 if a == 1 else -1), 0), self.length - 1)
        r = -0.02
        if self.pos == 0 and not self.key:
            self.key, r = 1.0, 0.3
        done = bool(self.pos == self.length - 1 and self.key)
        if done:
            r = 1.0
        return self.obs(), r, done or self.t >= self.limit


class A2C(nn.Module):
    def __init__(self, n_obs, n_actions):
        super(A2C, self).__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 32), nn.ReLU())
        self.policy = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, n_actions))
        self.value = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        fx = self.body(x)
        return self.policy(fx), self.value(fx)


def experience_source(envs, net, rng, totals):
    states = [e.reset() for e in envs]
    history = [collections.deque(maxlen=REWARD_STEPS) for _ in envs]
    acc = [0.0] * len(envs)
    while True:
        with torch.no_grad():
            probs = F.softmax(net(torch.tensor(np.array(states)))[0], dim=1).numpy()
        for i, env in enumerate(envs):
            action = int(rng.choice(2, p=probs[i] / probs[i].sum()))
            nxt, r, done = env.step(action)
            acc[i] += r
            history[i].append((states[i], action, r))
            states[i] = nxt
            if done:
                while history[i]:
                    yield collapse(history[i], None)
                    history[i].popleft()
                totals.append(acc[i])
                acc[i], states[i] = 0.0, env.reset()
            elif len(history[i]) == REWARD_STEPS:
                yield collapse(history[i], nxt)


def collapse(hist, last):
    total = 0.0
    for _, _, r in reversed(hist):
        total = r + GAMMA * total
    return Experience(hist[0][0], hist[0][1], total, last)


def unpack_batch(batch, net):
    states, actions, rewards, not_done_idx, last_states = [], [], [], [], []
    for idx, exp in enumerate(batch):
        states.append(exp.state)
        actions.append(exp.action)
        rewards.append(exp.reward)
        if exp.last_state is not None:
            not_done_idx.append(idx)
            last_states.append(exp.last_state)
    states_v = torch.tensor(np.array(states))
    actions_t = torch.tensor(actions, dtype=torch.long)
    rewards_np = np.array(rewards, dtype=np.float32)
    if not_done_idx:
        last_vals_np = net(torch.tensor(np.array(last_states)))[1].data.numpy()[:, 0]
        rewards_np[not_done_idx] += GAMMA ** REWARD_STEPS * last_vals_np
    return states_v, actions_t, torch.tensor(rewards_np)


if __name__ == '__main__':
    torch.manual_seed(2)
    rng = np.random.default_rng(2)
    envs = [Corridor(rng) for _ in range(NUM_ENVS)]
    net = A2C(8, 2)
    optimizer = optim.Adam(net.parameters(), lr=LEARNING_RATE, eps=1e-3)
    totals, batch, updates = [], [], 0
    for exp in experience_source(envs, net, rng, totals):
        batch.append(exp)
        if len(batch) < BATCH_SIZE:
            continue
        states_v, actions_t, vals_ref_v = unpack_batch(batch, net)
        batch.clear()
        optimizer.zero_grad()
        logits_v, value_v = net(states_v)
        loss_value_v = F.mse_loss(value_v.squeeze(-1), vals_ref_v)

        log_prob_v = F.log_softmax(logits_v, dim=1)
        adv_v = vals_ref_v - value_v.detach()  # CULPRIT
        log_prob_actions_v = adv_v * log_prob_v[range(BATCH_SIZE), actions_t]
        loss_policy_v = -log_prob_actions_v.mean()

        prob_v = F.softmax(logits_v, dim=1)
        entropy_loss_v = ENTROPY_BETA * (prob_v * log_prob_v).sum(dim=1).mean()
        loss_policy_v.backward(retain_graph=True)
        (entropy_loss_v + loss_value_v).backward()
        nn.utils.clip_grad_norm_(net.parameters(), CLIP_GRAD)
        optimizer.step()
        updates += 1
        if updates % 50 == 0:
            print('update %d reward %.3f value loss %.4f' % (updates, np.mean(totals[-50:]), loss_value_v.item()))
        if updates == 250:
            break
