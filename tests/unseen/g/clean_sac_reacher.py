"""CORRECT. SAC: the actor loss (alpha * log_prob - min Q).mean() uses log_prob without a factor prob since the actions are sampled by rsample; the critics' gradients of that step are cleared before their own, targets are moved in place under no_grad.
THREAD: https://github.com/thu-ml/tianshou/issues/489
"""
import copy
from typing import Any, Dict, Tuple

import numpy as np
import torch
from torch import nn
from torch.distributions import Independent, Normal


class ReachEnv:
    """A damped point mass in the plane which has to come to the origin."""

    def __init__(self, seed: int = 0, limit: int = 30):
        self.rng, self.limit = np.random.default_rng(seed), limit

    def reset(self) -> np.ndarray:
        self.s = np.concatenate([self.rng.uniform(-1, 1, 2), np.zeros(2)])
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a: np.ndarray) -> Tuple[np.ndarray, float, bool]:
        self.s[2:] = 0.8 * self.s[2:] + 0.15 * a
        self.s[:2] = np.clip(self.s[:2] + self.s[2:], -2, 2)
        self.t += 1
        reward = -float(np.abs(self.s[:2]).sum()) - 0.05 * float((a ** 2).sum())
        return self.s.astype(np.float32), reward, self.t >= self.limit


class ActorProb(nn.Module):
    def __init__(self, state_dim: int, action_dim: int, hidden: int = 48):
        super().__init__()
        self.preprocess = nn.Sequential(nn.Linear(state_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, action_dim)
        self.sigma = nn.Linear(hidden, action_dim)

    def forward(self, s: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        h = self.preprocess(s)
        return self.mu(h), torch.clamp(self.sigma(h), min=-20, max=2).exp()


class Critic(nn.Module):
    def __init__(self, state_dim: int, action_dim: int, hidden: int = 48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state_dim + action_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 1))

    def forward(self, s: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return self.net(torch.cat([s, a], dim=1))


class SACPolicy(nn.Module):
    def __init__(self, state_dim: int, action_dim: int, tau: float = 0.01, gamma: float = 0.95, lr: float = 2e-3):
        super().__init__()
        self.actor = ActorProb(state_dim, action_dim)
        self.critic1, self.critic2 = Critic(state_dim, action_dim), Critic(state_dim, action_dim)
        self.critic1_old, self.critic2_old = copy.deepcopy(self.critic1), copy.deepcopy(self.critic2)
        self.critic1_old.eval(), self.critic2_old.eval()
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic1_optim = torch.optim.Adam(self.critic1.parameters(), lr=lr)
        self.critic2_optim = torch.optim.Adam(self.critic2.parameters(), lr=lr)
        self._tau, self._gamma = tau, gamma
        self._target_entropy = -float(action_dim)
        self._log_alpha = torch.zeros(1, requires_grad=True)
        self._alpha_optim = torch.optim.Adam([self._log_alpha], lr=lr)
        self._alpha = self._log_alpha.detach().exp()
        self.__eps = np.finfo(np.float32).eps.item()

    def forward(self, obs: torch.Tensor) -> Dict[str, torch.Tensor]:
        dist = Independent(Normal(*self.actor(obs)), 1)
        act = dist.rsample()
        log_prob = dist.log_prob(act).unsqueeze(-1)
        squashed_action = torch.tanh(act)
        log_prob = log_prob - torch.log((1 - squashed_action.pow(2)) + self.__eps).sum(-1, keepdim=True)
        return {"act": squashed_action, "log_prob": log_prob}

    def sync_weight(self) -> None:
        with torch.no_grad():
            for old, new in ((self.critic1_old, self.critic1), (self.critic2_old, self.critic2)):
                for o, n in zip(old.parameters(), new.parameters()):
                    o.mul_(1 - self._tau).add_(n, alpha=self._tau)

    def _target_q(self, batch: Dict[str, torch.Tensor]) -> torch.Tensor:
        with torch.no_grad():
            nxt = self(batch["obs_next"])
            q = torch.min(self.critic1_old(batch["obs_next"], nxt["act"]), self.critic2_old(batch["obs_next"], nxt["act"]))
            return batch["rew"] + self._gamma * (q - self._alpha * nxt["log_prob"])

    @staticmethod
    def _mse_optimizer(batch, target: torch.Tensor, critic: nn.Module, optimizer) -> torch.Tensor:
        critic_loss = (critic(batch["obs"], batch["act"]) - target).pow(2).mean()
        optimizer.zero_grad()
        critic_loss.backward()
        optimizer.step()
        return critic_loss

    def learn(self, batch: Dict[str, torch.Tensor]) -> Dict[str, Any]:
        target = self._target_q(batch)
        critic1_loss = self._mse_optimizer(batch, target, self.critic1, self.critic1_optim)
        self._mse_optimizer(batch, target, self.critic2, self.critic2_optim)

        # actor
        obs_result = self(batch["obs"])
        act = obs_result["act"]
        current_q1a, current_q2a = self.critic1(batch["obs"], act), self.critic2(batch["obs"], act)
        actor_loss = (self._alpha * obs_result["log_prob"] - torch.min(current_q1a, current_q2a)).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()

        log_prob = obs_result["log_prob"].detach() + self._target_entropy
        alpha_loss = -(self._log_alpha * log_prob).mean()
        self._alpha_optim.zero_grad()
        alpha_loss.backward()
        self._alpha_optim.step()
        self._alpha = self._log_alpha.detach().exp()
        self.sync_weight()
        return {"actor": actor_loss.item(), "critic1": critic1_loss.item(), "alpha": self._alpha.item()}


if __name__ == "__main__":
    torch.manual_seed(0)
    env, rng, policy, memory = ReachEnv(), np.random.default_rng(0), SACPolicy(4, 2), []
    for episode in range(21):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                act = policy(torch.from_numpy(obs)[None])["act"][0].numpy()
            obs_next, rew, done = env.step(act)
            memory.append((obs, act, [np.float32(rew)], obs_next))
            obs, total = obs_next, total + rew
            if len(memory) > 128:
                cols = zip(*(memory[i] for i in rng.integers(0, len(memory), 64)))
                batch = {k: torch.from_numpy(np.stack(c)) for k, c in zip(("obs", "act", "rew", "obs_next"), cols)}
                log = policy.learn(batch)
        if episode % 5 == 0 and len(memory) > 128:
            print("episode %d return %.2f" % (episode, total), {k: round(v, 3) for k, v in log.items()})
