"""RIGHT. TD3-like training in which the critics are switched off (requires_grad_(False)) for the actor update and on again afterwards, with delayed actor steps and targets moved by lerp_.
TRUTH: the gradient still flows through the critic to the action, only the critic's parameters get none; the actor loss is built after the critic step; targets are never in an optimizer and are changed under no_grad; only qf1 is used for the actor, as TD3 does.
"""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(n_in, n_out, hidden=32, final=None):
    layers = [nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_out)]
    if final is not None:
        layers.append(final)
    return nn.Sequential(*layers)


class Critic(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q1 = mlp(obs_dim + act_dim, 1)
        self.q2 = mlp(obs_dim + act_dim, 1)

    def forward(self, obs, act):
        x = torch.cat([obs, act], dim=1)
        return self.q1(x), self.q2(x)

    def first(self, obs, act):
        return self.q1(torch.cat([obs, act], dim=1))


class TD3:
    def __init__(self, obs_dim, act_dim, gamma=0.5, tau=0.05, policy_delay=2, noise=0.1, noise_clip=0.2):
        self.actor = mlp(obs_dim, act_dim, final=nn.Tanh())
        self.critic = Critic(obs_dim, act_dim)
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.gamma, self.tau, self.policy_delay = gamma, tau, policy_delay
        self.noise, self.noise_clip = noise, noise_clip
        self.updates = 0

    @torch.no_grad()
    def td_target(self, batch):
        next_act = self.actor_target(batch["next_obs"])
        eps = (self.noise * torch.randn_like(next_act)).clamp(-self.noise_clip, self.noise_clip)
        q1, q2 = self.critic_target(batch["next_obs"], (next_act + eps).clamp(-1, 1))
        return batch["rew"] + self.gamma * (1 - batch["done"]) * torch.min(q1, q2)

    def update(self, batch):
        target = self.td_target(batch)
        q1, q2 = self.critic(batch["obs"], batch["act"])
        critic_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        self.updates += 1
        if self.updates % self.policy_delay == 0:
            self.critic.requires_grad_(False)
            actor_loss = -self.critic.first(batch["obs"], self.actor(batch["obs"])).mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
            self.critic.requires_grad_(True)
            self.move_targets()
        return critic_loss.item()

    @torch.no_grad()
    def move_targets(self):
        for net, tgt in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
            for p, tp in zip(net.parameters(), tgt.parameters()):
                tp.lerp_(p, self.tau)


def best_action(obs):
    return torch.tanh(obs[:, :2] - obs[:, 2:])


def sample(n):
    obs = torch.randn(n, 4)
    act = torch.rand(n, 2) * 2 - 1
    rew = -(act - best_action(obs)).pow(2).sum(dim=1, keepdim=True)
    return dict(obs=obs, act=act, rew=rew, next_obs=torch.randn(n, 4), done=(torch.rand(n, 1) < 0.2).float())


@torch.no_grad()
def evaluate(agent, n=500):
    obs = torch.randn(n, 4)
    return (agent.actor(obs) - best_action(obs)).pow(2).sum(dim=1).mean().item()


def main():
    torch.manual_seed(0)
    agent = TD3(4, 2)
    print("action error before", round(evaluate(agent), 3))
    for it in range(300):
        loss = agent.update(sample(128))
        if it % 100 == 0:
            print(it, "critic loss", round(loss, 3))
    print("action error after", round(evaluate(agent), 3))


if __name__ == "__main__":
    main()
