"""WRONG. PPO: the value loss stays high, all value predictions drift to the mean of the returns and the explained variance stays near zero.
TRUTH: evaluate_actions returns values of shape [B] while the returns and old values are [B, 1]; the critic loss broadcasts to [B, B]. Leave the value head at [B, 1] (no squeeze).
THREAD: https://github.com/RLinf/RLinf/issues/1568
"""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class VecChain:
    """n walkers on a chain; reward is the (signed) position reached."""

    def __init__(self, n_envs=16, length=9):
        self.n, self.length = n_envs, length
        self.pos = torch.randint(0, length, (n_envs,))

    def obs(self):
        return nn.functional.one_hot(self.pos, self.length).float()

    def step(self, action):
        self.pos = (self.pos + action * 2 - 1).clamp(0, self.length - 1)
        reward = (self.pos.float() - self.length // 2) / (self.length // 2)
        done = torch.rand(self.n) < 0.15
        self.pos = torch.where(done, torch.randint(0, self.length, (self.n,)), self.pos)
        return self.obs(), reward.unsqueeze(-1), done.float().unsqueeze(-1)


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_act):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, n_act))
        self.critic = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, 1))

    def act(self, obs):
        dist = Categorical(logits=self.actor(obs))
        action = dist.sample()
        return action, dist.log_prob(action).unsqueeze(-1), self.critic(obs)

    def evaluate_actions(self, obs, action):
        dist = Categorical(logits=self.actor(obs))
        values = self.critic(obs).squeeze(-1)  # CULPRIT
        return values, dist.log_prob(action).unsqueeze(-1), dist.entropy().unsqueeze(-1)


def compute_gae(rewards, values, dones, last_value, gamma=0.9, lam=0.9):
    adv, gae = [], torch.zeros_like(last_value)
    next_value = last_value
    for t in reversed(range(len(rewards))):
        mask = 1.0 - dones[t]
        delta = rewards[t] + gamma * next_value * mask - values[t]
        gae = delta + gamma * lam * mask * gae
        adv.insert(0, gae)
        next_value = values[t]
    adv = torch.cat(adv)
    return adv, adv + torch.cat(values)


class PPO:
    def __init__(self, cfg):
        self.cfg = cfg
        self.env = VecChain()
        self.ac = ActorCritic(self.env.length, 2)
        self.opt = torch.optim.Adam(self.ac.parameters(), lr=cfg["lr"])

    @torch.no_grad()
    def collect(self):
        obs = self.env.obs()
        buf = {k: [] for k in ("obs", "act", "logp", "val", "rew", "done")}
        for _ in range(self.cfg["horizon"]):
            act, logp, val = self.ac.act(obs)
            nxt, rew, done = self.env.step(act)
            for k, v in zip(buf, (obs, act, logp, val, rew, done)):
                buf[k].append(v)
            obs = nxt
        last = self.ac.critic(obs)
        adv, ret = compute_gae(buf["rew"], buf["val"], buf["done"], last)
        flat = {k: torch.cat(buf[k]) for k in ("obs", "act", "logp", "val")}
        flat["adv"] = (adv - adv.mean()) / (adv.std() + 1e-8)
        flat["ret"] = ret
        return flat, torch.cat(buf["rew"]).mean().item()

    def critic_loss(self, values, returns, prev_values):
        clipped = prev_values + (values - prev_values).clamp(-self.cfg["vclip"], self.cfg["vclip"])
        loss = torch.max((returns - values) ** 2, (returns - clipped) ** 2)
        return 0.5 * loss.mean()

    def update(self, data):
        n = data["act"].numel()
        for _ in range(self.cfg["epochs"]):
            for idx in torch.randperm(n).split(self.cfg["minibatch"]):
                b = {k: v[idx] for k, v in data.items()}
                values, logp, entropy = self.ac.evaluate_actions(b["obs"], b["act"])
                ratio = (logp - b["logp"]).exp()
                surr = torch.min(ratio * b["adv"], ratio.clamp(0.8, 1.2) * b["adv"])
                v_loss = self.critic_loss(values, b["ret"], b["val"])
                loss = -surr.mean() + self.cfg["vf"] * v_loss - self.cfg["ent"] * entropy.mean()
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.ac.parameters(), 0.5)
                self.opt.step()
        return v_loss.item()


def main():
    ppo = PPO(dict(lr=1e-2, horizon=16, epochs=4, minibatch=64, vclip=5.0, vf=0.5, ent=0.01))
    for it in range(12):
        data, reward = ppo.collect()
        v_loss = ppo.update(data)
        with torch.no_grad():
            v = ppo.ac.critic(data["obs"])
        ev = 1 - (data["ret"] - v).var() / data["ret"].var()
        print(f"iter {it:2d} reward {reward:+.3f} v_loss {v_loss:.3f} explained var {ev.item():+.3f} v std {v.std().item():.3f}")


if __name__ == "__main__":
    main()
