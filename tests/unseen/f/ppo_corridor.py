"""What the user sees: the ratio between the new and the old probability is always 1 in every one of the k epochs, the
clip fraction is always 0; the policy takes far too large steps and the return gets stuck at a bad value.

TRUTH: learn() recomputes the "old" log-probabilities with the current network inside the update loop, so ratio == 1 and
the clipping never acts. Fix: use the log-probs stored when the actions were taken (memory.logps).
THREAD: https://github.com/abhisheksuran/Reinforcement_Learning/issues/4 "PPO ratio between old policy and new policy"
"""
import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, n_obs=5, n_act=6):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, 48), nn.Tanh(), nn.Linear(48, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, 48), nn.Tanh(), nn.Linear(48, 1))

    def dist(self, obs):
        return Categorical(logits=self.actor(obs))


class Memory:
    def __init__(self):
        self.states, self.actions, self.logps, self.rewards = [], [], [], []

    def tensors(self):
        return (torch.cat(self.states), torch.cat(self.actions), torch.cat(self.logps), torch.cat(self.rewards))


class Env:
    """contextual bandit, the best action is hidden in the sign pattern of the context, rewards are noisy"""
    def __init__(self, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.w = torch.randn(5, 6, generator=g)

    def reset(self, n):
        self.obs = torch.randn(n, 5)
        return self.obs

    def step(self, a):
        best = (self.obs @ self.w).argmax(1)
        return (a == best).float() + 0.7 * torch.randn(len(a))


class Agent:
    def __init__(self, lr=0.03, clip=0.2, k_epochs=20):
        self.net = ActorCritic()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.clip = clip
        self.k_epochs = k_epochs

    @torch.no_grad()
    def act(self, obs, memory):
        d = self.net.dist(obs)
        a = d.sample()
        memory.states.append(obs)
        memory.actions.append(a)
        memory.logps.append(d.log_prob(a))
        return a

    def learn(self, memory):
        states, actions, logps, rewards = memory.tensors()
        clipped = []
        for _ in range(self.k_epochs):
            values = self.net.critic(states).squeeze(1)
            adv = (rewards - values).detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            d = self.net.dist(states)
            new_logps = d.log_prob(actions)
            old_logps = self.net.dist(states).log_prob(actions).detach()  # CULPRIT
            ratio = torch.exp(new_logps - old_logps)
            surr1 = ratio * adv
            surr2 = torch.clamp(ratio, 1 - self.clip, 1 + self.clip) * adv
            loss = -torch.min(surr1, surr2).mean() + 0.5 * (rewards - values).pow(2).mean() - 0.01 * d.entropy().mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            clipped.append(((ratio - 1).abs() > self.clip).float().mean().item())
        return ratio.mean().item(), ratio.std().item(), sum(clipped) / len(clipped)


def main():
    torch.manual_seed(0)
    env, agent = Env(), Agent()
    for it in range(41):
        memory = Memory()
        env_obs = env.reset(64)
        memory.rewards.append(env.step(agent.act(env_obs, memory)))
        mean, std, frac = agent.learn(memory)
        if it % 5 == 0:
            with torch.no_grad():
                o = env.reset(2000)
                r = (agent.net.dist(o).sample() == (o @ env.w).argmax(1)).float().mean()
            print(f'iter {it:3d} ratio {mean:.3f} +- {std:.3f} clip fraction {frac:.3f} success rate {r:.3f}')


if __name__ == '__main__':
    main()
