"""WRONG. Recurrent PPO with two LSTM layers: already before the first update the recomputed log-probabilities differ from the stored ones (the ratio is not 1).
TRUTH: the stored states are (n_seq, n_layers, dim) and are reshaped to (n_layers, n_seq, dim), which mixes sequences and layers; swap the axes instead.
THREAD: https://github.com/Stable-Baselines-Team/stable-baselines3-contrib/issues/111
"""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)

N_ENVS, N_STEPS, SEQ_LEN, N_LAYERS, DIM = 6, 24, 6, 2, 16


class EchoEnv:
    """the symbol seen in the previous step is the right action now"""

    def __init__(self, n):
        self.n = n
        self.cur = torch.randint(0, 3, (n,))
        self.prev = self.cur.clone()

    def obs(self):
        return nn.functional.one_hot(self.cur, 3).float()

    def step(self, action):
        reward = (action == self.prev).float()
        self.prev = self.cur
        self.cur = torch.randint(0, 3, (self.n,))
        return self.obs(), reward


class RecurrentPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm_actor = nn.LSTM(3, DIM, num_layers=N_LAYERS)
        self.action_net = nn.Linear(DIM, 3)
        self.value_net = nn.Linear(DIM, 1)

    def forward(self, obs_seq, states):
        out, states = self.lstm_actor(obs_seq, states)
        return Categorical(logits=self.action_net(out)), self.value_net(out).squeeze(-1), states


class RecurrentRolloutBuffer:
    def __init__(self, gamma=0.5):
        self.gamma = gamma
        self.reset()

    def reset(self):
        self.data = {k: [] for k in ("obs", "act", "logp", "val", "rew", "h", "c")}

    def add(self, **items):
        for k, v in items.items():
            self.data[k].append(v)

    def finish(self, last_value):
        d = {k: torch.stack(v) for k, v in self.data.items()}
        returns, running = [], last_value
        for r in d["rew"].flip(0):
            running = r + self.gamma * running
            returns.insert(0, running)
        d["ret"] = torch.stack(returns)
        adv = d["ret"] - d["val"]
        d["adv"] = (adv - adv.mean()) / (adv.std() + 1e-8)
        self.d = d

    def to_lstm_state(self, states):
        # (n_seq, n_layers, dim) -> (n_layers, n_seq, dim)
        return states.reshape(N_LAYERS, states.size(0), -1).contiguous()  # CULPRIT

    def get(self):
        starts = range(0, N_STEPS, SEQ_LEN)

        def sequences(key):
            # (n_steps, n_envs, ...) -> (seq_len, n_seq, ...)
            return torch.cat([self.d[key][s:s + SEQ_LEN] for s in starts], dim=1)

        h = torch.cat([self.d["h"][s] for s in starts])
        c = torch.cat([self.d["c"][s] for s in starts])
        batch = {k: sequences(k) for k in ("obs", "act", "logp", "ret", "adv")}
        batch["states"] = (self.to_lstm_state(h), self.to_lstm_state(c))
        return batch


def collect(env, policy, states, buffer):
    buffer.reset()
    obs = env.obs()
    with torch.no_grad():
        for _ in range(N_STEPS):
            h, c = states
            dist, value, states = policy(obs.unsqueeze(0), states)
            action = dist.sample()
            nxt, reward = env.step(action[0])
            buffer.add(obs=obs, act=action[0], logp=dist.log_prob(action)[0], val=value[0], rew=reward,
                       h=h.transpose(0, 1), c=c.transpose(0, 1))
            obs = nxt
        last_value = policy(obs.unsqueeze(0), states)[1][0]
    buffer.finish(last_value)
    return states


def main():
    env, policy, buffer = EchoEnv(N_ENVS), RecurrentPolicy(), RecurrentRolloutBuffer()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    states = (torch.zeros(N_LAYERS, N_ENVS, DIM), torch.zeros(N_LAYERS, N_ENVS, DIM))
    for it in range(15):
        states = collect(env, policy, states, buffer)
        batch = buffer.get()
        first_ratio = None
        for epoch in range(4):
            dist, value, _ = policy(batch["obs"], batch["states"])
            ratio = (dist.log_prob(batch["act"]) - batch["logp"]).exp()
            if first_ratio is None:
                first_ratio = (ratio.detach() - 1).abs().max().item()
            surrogate = torch.min(ratio * batch["adv"], ratio.clamp(0.8, 1.2) * batch["adv"])
            loss = -surrogate.mean() + 0.5 * (value - batch["ret"]).pow(2).mean() - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            opt.step()
        if it % 2 == 0:
            print(f"iter {it:2d} reward {buffer.d['rew'].mean().item():.3f} max|ratio-1| before update {first_ratio:.2e}")


if __name__ == "__main__":
    main()
