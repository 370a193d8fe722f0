"""MADDPG with two cooperating agents (decentralized actors, centralized critics) on replayed transitions.

TRUTH: critic loss and actor loss are both computed first; then the critic is updated, which changes its
weights in place, and only after that the actor loss, whose graph runs through the old critic weights, is
backpropagated. Symptom: RuntimeError "one of the variables needed for gradient computation has been
modified by an inplace operation" at actor_loss.backward(), in the first call to train. Fix: compute the
actor loss after the critic step (or do the actor's backward and step before the critic step).
Drawn from starry-sky6688/MADDPG#27.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

N_AGENTS, OBS, ACT = 2, 4, 2


class Args:
    lr_actor = 1e-3
    lr_critic = 2e-3
    gamma = 0.95
    tau = 0.02
    batch_size = 128
    buffer_size = 4000
    time_steps = 3000
    episode_len = 25
    noise_rate = 0.2


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(OBS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, ACT))

    def forward(self, o):
        return torch.tanh(self.net(o))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N_AGENTS * (OBS + ACT), 64), nn.ReLU(),
                                 nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state, action):
        return self.net(torch.cat(list(state) + list(action), dim=1))


class Meet:
    """Two points on a plane; the shared reward is minus the distance between them."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def obs(self):
        return [np.concatenate([self.p[i], self.p[1 - i] - self.p[i]]).astype(np.float32) for i in range(N_AGENTS)]

    def reset(self):
        self.p = self.rng.uniform(-1, 1, (N_AGENTS, 2))
        return self.obs()

    def step(self, u):
        self.p = np.clip(self.p + 0.1 * np.clip(np.stack(u), -1, 1), -1, 1)
        return self.obs(), -float(np.linalg.norm(self.p[0] - self.p[1]))


class MADDPG:
    def __init__(self, args, agent_id):
        self.args, self.agent_id = args, agent_id
        self.actor_network, self.critic_network = Actor(), Critic()
        self.actor_target_network, self.critic_target_network = Actor(), Critic()
        self.actor_target_network.load_state_dict(self.actor_network.state_dict())
        self.critic_target_network.load_state_dict(self.critic_network.state_dict())
        self.actor_optim = torch.optim.Adam(self.actor_network.parameters(), lr=args.lr_actor)
        self.critic_optim = torch.optim.Adam(self.critic_network.parameters(), lr=args.lr_critic)

    @torch.no_grad()
    def _soft_update_target_network(self):
        for net, target in ((self.actor_network, self.actor_target_network),
                            (self.critic_network, self.critic_target_network)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.copy_((1 - self.args.tau) * tp + self.args.tau * p)

    def train(self, batch, agents):
        o, u, r, o_next = batch
        with torch.no_grad():
            u_next = [ag.actor_target_network(o_next[i]) for i, ag in enumerate(agents)]
            target_q = r + self.args.gamma * self.critic_target_network(o_next, u_next)
        critic_loss = F.mse_loss(self.critic_network(o, u), target_q)

        u_policy = [a.clone() for a in u]
        u_policy[self.agent_id] = self.actor_network(o[self.agent_id])
        actor_loss = -self.critic_network(o, u_policy).mean()  # CULPRIT

        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()  # CULPRIT
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        self._soft_update_target_network()
        return critic_loss.item(), actor_loss.item()


def sample(buffer, n, rng):
    idx = rng.randint(0, len(buffer), n)
    o, u, r, o_next = zip(*[buffer[i] for i in idx])
    stack = lambda seq, i: torch.from_numpy(np.stack([s[i] for s in seq]).astype(np.float32))
    return ([stack(o, i) for i in range(N_AGENTS)], [stack(u, i) for i in range(N_AGENTS)],
            torch.tensor(r).float().unsqueeze(1), [stack(o_next, i) for i in range(N_AGENTS)])


def main():
    args = Args()
    torch.manual_seed(0)
    rng = np.random.RandomState(0)
    env = Meet(1)
    agents = [MADDPG(args, i) for i in range(N_AGENTS)]
    buffer, returns, o, total = [], [], env.reset(), 0.0
    for step in range(1, args.time_steps + 1):
        with torch.no_grad():
            u = [ag.actor_network(torch.from_numpy(o[i])).numpy() + args.noise_rate * rng.randn(ACT)
                 for i, ag in enumerate(agents)]
        o_next, r = env.step(u)
        buffer.append((o, u, r, o_next))
        buffer = buffer[-args.buffer_size:]
        o, total = o_next, total + r
        if len(buffer) >= args.batch_size and step % 10 == 0:
            batch = sample(buffer, args.batch_size, rng)
            logs = [ag.train(batch, agents) for ag in agents]
            if step % 500 == 0:
                print(f"step {step} critic {logs[0][0]:.4f}/{logs[1][0]:.4f} actor {logs[0][1]:.3f}/{logs[1][1]:.3f} "
                      f"return {np.mean(returns[-20:]):.2f}")
        if step % args.episode_len == 0:
            returns.append(total)
            o, total = env.reset(), 0.0


if __name__ == "__main__":
    main()
