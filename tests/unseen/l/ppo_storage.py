"""WRONG. Since GAE was moved into its own function the value loss of PPO is tiny from the first update on and the explained variance stays near or below zero, the values do not get near the returns.
TRUTH: in compute_gae the returns are formed with storage.advantages, the zero-filled buffer, instead of the advantages just computed, so the value targets are the old values; use returns=advantages + storage.values.
THREAD: https://github.com/vwxyzjn/cleanrl/pull/337
"""
import dataclasses
import torch
import torch.nn as nn
from torch.distributions import Categorical

args = dict(num_envs=8, num_steps=32, gamma=0.9, gae_lambda=0.95, lr=1e-2, epochs=3, minibatch=64,
            clip_coef=0.2, vf_coef=0.5, ent_coef=0.01, max_grad_norm=0.5, num_updates=25)


@dataclasses.dataclass
class Storage:
    obs: torch.Tensor
    actions: torch.Tensor
    logprobs: torch.Tensor
    dones: torch.Tensor
    values: torch.Tensor
    rewards: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor

    @classmethod
    def empty(cls, steps, envs, obs_dim):
        z = lambda: torch.zeros(steps, envs)
        return cls(torch.zeros(steps, envs, obs_dim), z(), z(), z(), z(), z(), z(), z())

    def replace(self, **kw):
        return dataclasses.replace(self, **kw)


class CorridorVec:
    """walk right on a corridor of five cells, reward 1 at the end"""

    def __init__(self, n, length=5):
        self.n, self.length = n, length
        self.pos = torch.zeros(n, dtype=torch.long)

    def obs(self):
        return nn.functional.one_hot(self.pos, self.length).float()

    def step(self, action):
        self.pos = (self.pos + 2 * action - 1).clamp(0, self.length - 1)
        done = self.pos == self.length - 1
        reward = done.float()
        self.pos = torch.where(done, torch.zeros_like(self.pos), self.pos)
        return self.obs(), reward, done.float()


class AgentNet(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, n_actions))
        self.critic = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, 1))

    def get_value(self, x):
        return self.critic(x).squeeze(-1)

    def get_action_and_value(self, x, action=None):
        dist = Categorical(logits=self.actor(x))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.get_value(x)


@torch.no_grad()
def rollout(agent, env, storage, next_obs, next_done):
    for step in range(args["num_steps"]):
        action, logprob, _, value = agent.get_action_and_value(next_obs)
        storage.obs[step], storage.dones[step] = next_obs, next_done
        storage.actions[step], storage.logprobs[step], storage.values[step] = action, logprob, value
        next_obs, storage.rewards[step], next_done = env.step(action)
    return storage, next_obs, next_done


@torch.no_grad()
def compute_gae(agent, storage, next_obs, next_done):
    next_value = agent.get_value(next_obs)
    advantages = torch.zeros_like(storage.rewards)
    lastgaelam = torch.zeros_like(next_value)
    for t in reversed(range(args["num_steps"])):
        last = t == args["num_steps"] - 1
        nonterminal = 1.0 - (next_done if last else storage.dones[t + 1])
        nextvalues = next_value if last else storage.values[t + 1]
        delta = storage.rewards[t] + args["gamma"] * nextvalues * nonterminal - storage.values[t]
        lastgaelam = delta + args["gamma"] * args["gae_lambda"] * nonterminal * lastgaelam
        advantages[t] = lastgaelam
    return storage.replace(
        advantages=advantages,
        returns=storage.advantages + storage.values,  # CULPRIT
    )


def update_ppo(agent, optimizer, storage):
    flat = {f.name: getattr(storage, f.name).flatten(0, 1) for f in dataclasses.fields(storage)}
    for _ in range(args["epochs"]):
        for mb in torch.randperm(flat["obs"].shape[0]).split(args["minibatch"]):
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(flat["obs"][mb], flat["actions"][mb])
            ratio = (newlogprob - flat["logprobs"][mb]).exp()
            adv = flat["advantages"][mb]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - args["clip_coef"], 1 + args["clip_coef"])).mean()
            v_loss = 0.5 * (newvalue - flat["returns"][mb]).pow(2).mean()
            loss = pg_loss - args["ent_coef"] * entropy.mean() + args["vf_coef"] * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args["max_grad_norm"])
            optimizer.step()
    return pg_loss.item(), v_loss.item()


def main():
    torch.manual_seed(0)
    env = CorridorVec(args["num_envs"])
    agent = AgentNet(env.length, 2)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args["lr"], eps=1e-5)
    next_obs, next_done = env.obs(), torch.zeros(args["num_envs"])
    for update in range(1, args["num_updates"] + 1):
        storage = Storage.empty(args["num_steps"], args["num_envs"], env.length)
        storage, next_obs, next_done = rollout(agent, env, storage, next_obs, next_done)
        storage = compute_gae(agent, storage, next_obs, next_done)
        pg_loss, v_loss = update_ppo(agent, optimizer, storage)
        if update % 6 == 1:
            lam = storage.advantages + storage.values
            ev = 1 - (lam - storage.values).var() / lam.var()
            print(update, "reward", round(storage.rewards.mean().item(), 3), "v_loss", round(v_loss, 5),
                  "explained var", round(ev.item(), 3))
    print("values per cell", [round(v, 3) for v in agent.get_value(torch.eye(env.length)).tolist()])


if __name__ == "__main__":
    main()
