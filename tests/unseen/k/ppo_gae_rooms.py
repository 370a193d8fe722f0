"""WRONG. PPO with GAE runs without any complaint, the critic learns, but the policy hardly becomes better than at the start, whatever learning rate I take.
TRUTH: the ratio has the shape (N,), the advantages from GAE (N, 1), so ratio * advantages is N x N: each ratio meets all advantages, whose mean is zero after normalisation. Use advantages.reshape(-1) in the surrogate.
THREAD: https://github.com/RITCHIEHuang/DeepRL_Algorithms/issues/13
"""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)

CONFIG = dict(n_rooms=5, n_doors=4, horizon=8, episodes_per_iter=24, iters=20, ppo_epochs=4, gamma=0.9, tau=0.95,
              lr_p=0.01, lr_v=0.02, clip=0.2, entropy_coef=0.001)


class Rooms:
    """In every room exactly one door pays and leads on; the room is seen with some noise."""

    def __init__(self, n_rooms, n_doors):
        self.n_rooms = n_rooms
        self.good_door = torch.randint(n_doors, (n_rooms,))

    def reset(self, n):
        self.room = torch.randint(self.n_rooms, (n,))
        return self.observe()

    def observe(self):
        return nn.functional.one_hot(self.room, self.n_rooms).float() + 0.1 * torch.randn(len(self.room), self.n_rooms)

    def step(self, doors):
        hit = doors == self.good_door[self.room]
        self.room = torch.where(hit, (self.room + 1) % self.n_rooms, self.room)
        return self.observe(), hit.float()


class PolicyNet(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, n_out))

    def forward(self, states):
        return Categorical(logits=self.net(states))

    def get_log_prob(self, states, actions):
        return self(states).log_prob(actions)

    def get_entropy(self, states):
        return self(states).entropy().mean()


class ValueNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, states):
        return self.net(states)


def estimate_advantages(rewards, masks, values, gamma, tau):
    """rewards, masks: (T, B, 1); values: (T + 1, B, 1). Returns flat (T * B, 1) columns."""
    advantages = torch.zeros_like(rewards)
    gae = torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] * masks[t] - values[t]
        gae = delta + gamma * tau * masks[t] * gae
        advantages[t] = gae
    returns = advantages + values[:-1]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return advantages.reshape(-1, 1), returns.reshape(-1, 1)


@torch.no_grad()
def collect(env, policy, value, cfg):
    states, actions, rewards, masks = [], [], [], []
    state = env.reset(cfg["episodes_per_iter"])
    for t in range(cfg["horizon"]):
        action = policy(state).sample()
        next_state, reward = env.step(action)
        states.append(state)
        actions.append(action)
        rewards.append(reward.unsqueeze(-1))
        masks.append(torch.full_like(rewards[-1], float(t < cfg["horizon"] - 1)))
        state = next_state
    values = value(torch.stack(states + [state]))
    rewards = torch.stack(rewards)
    advantages, returns = estimate_advantages(rewards, torch.stack(masks), values, cfg["gamma"], cfg["tau"])
    states, actions = torch.cat(states), torch.cat(actions)
    return states, actions, returns, advantages, policy.get_log_prob(states, actions), rewards.sum(0).mean().item()


def ppo_step(policy, value, opt_p, opt_v, batch, cfg):
    states, actions, returns, advantages, old_log_probs, _ = batch
    for _ in range(cfg["ppo_epochs"]):
        value_loss = nn.functional.mse_loss(value(states), returns)
        opt_v.zero_grad()
        value_loss.backward()
        opt_v.step()

        log_probs = policy.get_log_prob(states, actions)
        ratio = torch.exp(log_probs - old_log_probs)
        clipped = ratio.clamp(1.0 - cfg["clip"], 1.0 + cfg["clip"])
        surrogate = torch.min(ratio * advantages, clipped * advantages).mean()  # CULPRIT
        policy_loss = -surrogate - cfg["entropy_coef"] * policy.get_entropy(states)
        opt_p.zero_grad()
        policy_loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        opt_p.step()
    return value_loss.item(), policy_loss.item()


def main():
    cfg = dict(CONFIG)
    env = Rooms(cfg["n_rooms"], cfg["n_doors"])
    policy, value = PolicyNet(cfg["n_rooms"], cfg["n_doors"]), ValueNet(cfg["n_rooms"])
    opt_p = torch.optim.Adam(policy.parameters(), lr=cfg["lr_p"])
    opt_v = torch.optim.Adam(value.parameters(), lr=cfg["lr_v"])
    for it in range(cfg["iters"]):
        batch = collect(env, policy, value, cfg)
        value_loss, policy_loss = ppo_step(policy, value, opt_p, opt_v, batch, cfg)
        if it % 5 == 0 or it == cfg["iters"] - 1:
            print(f"iter {it:2d}  reward {batch[-1]:.3f} of {cfg['horizon']}  value loss {value_loss:.3f}  policy loss {policy_loss:.4f}")


if __name__ == "__main__":
    main()
