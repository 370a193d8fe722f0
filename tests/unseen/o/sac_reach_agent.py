"""SAC agent for a 2-d reaching task (five moves an episode), agent/train split as in small RL repositories.

TRUTH: q_actions_ is detached in the actor loss, so the only path by which the actor can learn which actions are good is cut;
what remains is the entropy term. Symptom: the critic's loss falls but the actor does not improve, the reward stays at the
random level. Fix: do not detach q_actions_ there. Drawn from TianhongDai/reinforcement-learning-algorithms#8.
"""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=123)
    p.add_argument("--hidden-size", type=int, default=64)
    p.add_argument("--q-lr", type=float, default=3e-3)
    p.add_argument("--p-lr", type=float, default=2e-3)
    p.add_argument("--alpha", type=float, default=0.02)
    p.add_argument("--gamma", type=float, default=0.6)
    p.add_argument("--tau", type=float, default=0.05)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--init-exploration-steps", type=int, default=300)
    p.add_argument("--total-timesteps", type=int, default=750)
    return p.parse_args()


class ReachEnv:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.pos, self.goal, self.t = self.rng.uniform(-1, 1, 2), self.rng.uniform(-1, 1, 2), 0
        return self.obs()

    def obs(self):
        return np.concatenate([self.pos, self.goal]).astype(np.float32)

    def step(self, action):
        self.pos = np.clip(self.pos + 0.5 * action, -1.5, 1.5)
        self.t += 1
        return self.obs(), -float(np.linalg.norm(self.pos - self.goal)), self.t == 5


class ReplayBuffer:
    def __init__(self, rng):
        self.storge, self.rng = [], rng

    def add(self, *data):
        self.storge.append(data)

    def sample(self, n):
        idx = self.rng.integers(0, len(self.storge), n)
        cols = zip(*[self.storge[i] for i in idx])
        return [torch.as_tensor(np.array(c, dtype=np.float32)) for c in cols]


class FlattenMlp(nn.Module):
    def __init__(self, i, h, a=None):
        super().__init__()
        self.fc1, self.fc2, self.q = nn.Linear(i + a, h), nn.Linear(h, h), nn.Linear(h, 1)

    def forward(self, obs, action):
        x = torch.relu(self.fc1(torch.cat([obs, action], 1)))
        return self.q(torch.relu(self.fc2(x)))


class TanhGaussianPolicy(nn.Module):
    def __init__(self, i, a, h):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(i, h), nn.Linear(h, h)
        self.mean, self.log_std = nn.Linear(h, a), nn.Linear(h, a)

    def forward(self, obs):
        x = torch.relu(self.fc2(torch.relu(self.fc1(obs))))
        return self.mean(x), self.log_std(x).clamp(-5, 2).exp()


def sample_action(pi):
    mean, std = pi
    dist = torch.distributions.Normal(mean, std)
    pre = dist.rsample()
    act = torch.tanh(pre)
    return act, (dist.log_prob(pre) - torch.log(1 - act ** 2 + 1e-6)).sum(1, keepdim=True)


class SacAgent:
    def __init__(self, env, args, rng):
        self.env, self.args = env, args
        self.qf1, self.qf2 = FlattenMlp(4, args.hidden_size, 2), FlattenMlp(4, args.hidden_size, 2)
        self.target_qf1, self.target_qf2 = copy.deepcopy(self.qf1), copy.deepcopy(self.qf2)
        self.actor_net = TanhGaussianPolicy(4, 2, args.hidden_size)
        self.qf_optim = torch.optim.Adam([*self.qf1.parameters(), *self.qf2.parameters()], lr=args.q_lr)
        self.actor_optim = torch.optim.Adam(self.actor_net.parameters(), lr=args.p_lr)
        self.buffer = ReplayBuffer(rng)

    def _update_network(self):
        obses, actions, rewards, obses_, masks = self.buffer.sample(self.args.batch_size)
        rewards, masks = rewards.unsqueeze(-1), masks.unsqueeze(-1)
        with torch.no_grad():
            a_, logp_ = sample_action(self.actor_net(obses_))
            tq = torch.min(self.target_qf1(obses_, a_), self.target_qf2(obses_, a_)) - self.args.alpha * logp_
            target = rewards + self.args.gamma * masks * tq
        qf_loss = (self.qf1(obses, actions) - target).pow(2).mean() + (self.qf2(obses, actions) - target).pow(2).mean()
        self.qf_optim.zero_grad()
        qf_loss.backward()
        self.qf_optim.step()

        actions_, log_prob = sample_action(self.actor_net(obses))
        q_actions_ = torch.min(self.qf1(obses, actions_), self.qf2(obses, actions_))
        actor_loss = (self.args.alpha * log_prob - q_actions_.detach()).mean()  # CULPRIT
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        with torch.no_grad():
            for t, s in ((self.target_qf1, self.qf1), (self.target_qf2, self.qf2)):
                for tp, sp in zip(t.parameters(), s.parameters()):
                    tp.mul_(1 - self.args.tau).add_(self.args.tau * sp)
        return qf_loss.item(), actor_loss.item()

    def evaluate(self, episodes=60):
        env, total = ReachEnv(np.random.default_rng(999)), 0.0
        for _ in range(episodes):
            obs, done = env.reset(), False
            while not done:
                with torch.no_grad():
                    act = torch.tanh(self.actor_net(torch.from_numpy(obs)[None])[0])[0].numpy()
                obs, r, done = env.step(act)
                total += r
        return total / episodes

    def learn(self, rng):
        obs = self.env.reset()
        print(f"eval reward before training {self.evaluate():.3f}")
        for step in range(1, self.args.total_timesteps + 1):
            if step <= self.args.init_exploration_steps:
                action = rng.uniform(-1, 1, 2)
            else:
                with torch.no_grad():
                    action = sample_action(self.actor_net(torch.from_numpy(obs)[None]))[0][0].numpy()
            obs_, r, done = self.env.step(action)
            self.buffer.add(obs, action, r, obs_, 1 - float(done))
            obs = self.env.reset() if done else obs_
            if step > self.args.init_exploration_steps:
                ql, al = self._update_network()
                if step % 150 == 0:
                    print(f"frames {step:4d} eval reward {self.evaluate():.3f} qf_loss {ql:.4f} actor_loss {al:.4f}")


if __name__ == "__main__":
    args = get_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    SacAgent(ReachEnv(rng), args, rng).learn(rng)
