"""Advises many small farms season by season with advantage actor-critic: which crop to sow, whether to irrigate.

TRUTH: get_losses builds the GAE advantages from value_preds with the graph on and takes critic_loss =
advantages.pow(2).mean(); the gradient also runs through the bootstrapped next values and the whole recursion, so the
critic minimises a residual instead of regressing to a fixed target. Values of states after a random event are pulled
to the value before it (the value error in the log stays large). Fix: regress to a detached return, critic_loss =
((advantages + value_preds).detach() - value_preds).pow(2).mean() (or detach the next values and the running gae where
the td error is made). Drawn from Farama-Foundation/Gymnasium#1494.
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

CROP_YIELD = torch.tensor([[4.0, 1.0, -2.0], [2.0, 2.5, 1.0], [-1.0, 1.5, 6.0]])  # crop x (wet, mild, dry)


class Farms:
    """Three decisions per season: sow (0), then the weather shows and irrigation is chosen (1), then harvest (2)."""

    def __init__(self, n, seed):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self):
        self.stage = 0
        self.crop = torch.zeros(self.n, dtype=torch.long)
        self.weather = torch.zeros(self.n, dtype=torch.long)
        self.water = torch.zeros(self.n)

    def obs(self):
        on = 1.0 if self.stage > 0 else 0.0
        stage = F.one_hot(torch.full((self.n,), self.stage), 3).float()
        pair = F.one_hot(self.crop * 3 + self.weather, 9).float() * on
        return torch.cat([stage, pair, self.water[:, None]], 1)

    def step(self, action):
        reward = torch.zeros(self.n)
        if self.stage == 0:
            self.crop = action
            self.weather = torch.randint(0, 3, (self.n,), generator=self.g)
        elif self.stage == 1:
            self.water = (action > 0).float()
            reward = -0.4 * self.water
        else:
            reward = CROP_YIELD[self.crop, self.weather] + self.water * (self.weather == 2).float()
            reward = reward + 0.3 * torch.randn(self.n, generator=self.g)
        done = self.stage == 2
        self.stage += 1
        if done:
            self.reset()
        return self.obs(), reward, torch.full((self.n,), 0.0 if done else 1.0)


class A2C(nn.Module):
    def __init__(self, n_obs, n_act, hidden=32):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def select_action(self, x):
        pd = torch.distributions.Categorical(logits=self.actor(x))
        a = pd.sample()
        return a, pd.log_prob(a), self.critic(x).squeeze(-1), pd.entropy()

    def get_losses(self, rewards, log_probs, value_preds, entropy, masks, gamma, lam, ent_coef):
        advantages = []
        gae = torch.zeros_like(rewards[0])
        next_values = torch.cat([value_preds[1:], torch.zeros_like(value_preds[:1])])
        for t in reversed(range(len(rewards))):
            td_error = rewards[t] + gamma * masks[t] * next_values[t] - value_preds[t]
            gae = td_error + gamma * lam * masks[t] * gae
            advantages.insert(0, gae)
        advantages = torch.stack(advantages)
        critic_loss = advantages.pow(2).mean()  # CULPRIT
        actor_loss = -(advantages.detach() * log_probs).mean() - ent_coef * entropy.mean()
        return critic_loss, actor_loss


@torch.no_grad()
def harvest_value_error(agent):
    """Error of the critic before the harvest, where the expected yield is known."""
    env = Farms(9, seed=0)
    env.stage, env.crop, env.weather = 2, torch.arange(9) // 3, torch.arange(9) % 3
    return (agent.critic(env.obs()).squeeze(-1) - CROP_YIELD.flatten()).pow(2).mean().sqrt().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=1500)
    ap.add_argument("--farms", type=int, default=64)
    ap.add_argument("--lam", type=float, default=0.3)
    ap.add_argument("--ent", type=float, default=0.3)
    args = ap.parse_args()
    torch.manual_seed(0)
    gamma = 0.99
    env, agent = Farms(args.farms, seed=1), A2C(13, 3)
    opt_c = torch.optim.Adam(agent.critic.parameters(), lr=5e-3)
    opt_a = torch.optim.Adam(agent.actor.parameters(), lr=5e-4)
    income = 0.0
    for update in range(args.updates):
        rows, obs = [], env.obs()
        for _ in range(3):
            a, lp, v, ent = agent.select_action(obs)
            obs, r, m = env.step(a)
            rows.append((r, lp, v, ent, m))
        rew, lps, vals, ents, masks = (torch.stack(c) for c in zip(*rows))
        closs, aloss = agent.get_losses(rew, lps, vals, ents, masks, gamma, args.lam, args.ent)
        opt_c.zero_grad()
        closs.backward()
        opt_c.step()
        opt_a.zero_grad()
        aloss.backward()
        opt_a.step()
        income = 0.98 * income + 0.02 * rew.sum(0).mean().item()
        if (update + 1) % 300 == 0:
            print(f"update {update + 1} critic loss {closs.item():.3f} income {income:.2f} "
                  f"value error before harvest {harvest_value_error(agent):.2f}")


if __name__ == "__main__":
    main()
