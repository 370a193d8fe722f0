"""Trains an elevator dispatcher by actor-critic on short episodes, with generalised advantages.

TRUTH: the advantages keep the critic's graph and weigh the log probability, so the actor's loss also pushes the critic, whose values end systematically off their targets (value bias printed); compute the advantages from detached values.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Setup:
    floors: int = 5
    horizon: int = 8
    episodes: int = 32
    iterations: int = 80
    gamma: float = 0.95
    lam: float = 0.9
    lr: float = 1e-2


class Dispatcher(nn.Module):
    def __init__(self, floors):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * floors, 48), nn.Tanh())
        self.policy = nn.Linear(48, 3)
        self.value = nn.Linear(48, 1)

    def forward(self, state):
        h = self.body(state)
        return torch.distributions.Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def observe(cabin, caller, floors):
    hot = nn.functional.one_hot
    return torch.cat([hot(cabin, floors), hot(caller, floors)], dim=-1).float()


def rollout(model, cfg):
    cabin, caller = torch.randint(0, cfg.floors, (2, cfg.episodes))
    log_probs, values, rewards = [], [], []
    for _ in range(cfg.horizon):
        policy, value = model(observe(cabin, caller, cfg.floors))
        move = policy.sample()
        cabin = (cabin + move - 1).clamp(0, cfg.floors - 1)
        arrived = cabin == caller
        rewards.append(arrived.float() - 0.1 * (cabin - caller).abs())
        caller = torch.where(arrived, torch.randint_like(caller, cfg.floors), caller)
        log_probs.append(policy.log_prob(move))
        values.append(value)
    return torch.stack(log_probs), torch.stack(values), torch.stack(rewards)


def advantages(rewards, values, cfg):
    following = torch.cat([values[1:], torch.zeros_like(values[:1])])
    surprise = rewards + cfg.gamma * following - values
    result, running = [], torch.zeros_like(surprise[0])
    for delta in surprise.flip(0):
        running = delta + cfg.gamma * cfg.lam * running
        result.insert(0, running)
    return torch.stack(result)


if __name__ == "__main__":
    torch.manual_seed(50)
    cfg = Setup()
    model = Dispatcher(cfg.floors)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for iteration in range(cfg.iterations):
        log_probs, values, rewards = rollout(model, cfg)
        advantage = advantages(rewards, values, cfg)  # CULPRIT
        target = (advantage + values).detach()
        value_loss = (values - target).square().mean()
        loss = -(log_probs * advantage).mean() + 0.5 * value_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration % 20 == 0 or iteration == cfg.iterations - 1:
            print(f"{iteration:3d} reward {rewards.mean().item():.3f} value bias {(values - target).mean().item():.3f}")
