"""Controls the ballast of a small submersible with soft actor-critic (twin critics, state-value net, reparametrised policy).

TRUTH: SACAgent.update_model forms all losses first, then steps the critics, and only then calls backward on the policy
loss, whose graph still needs the critics' old weights; the in-place step of q_opt makes it fail with "one of the
variables needed for gradient computation has been modified by an inplace operation". Fix: form the policy loss after
the critics' step (or call q_opt.step() only after all backward calls, clearing the critics' surplus gradients).
Drawn from MrSyee/pg-is-all-you-need#30.
"""
import argparse
import copy
import random
import torch
import torch.nn as nn
import torch.nn.functional as F


class Submersible:
    def reset(self):
        self.depth, self.speed, self.t = random.uniform(-1, 1), 0.0, 0
        return self.obs()

    def obs(self):
        return [self.depth, self.speed]

    def step(self, thrust):
        self.speed = 0.9 * self.speed + 0.2 * thrust + random.gauss(0, 0.01)
        self.depth += 0.2 * self.speed
        self.t += 1
        return self.obs(), -self.depth ** 2 - 0.05 * thrust ** 2, self.t >= 60


def mlp(n_in, n_out, hidden=64):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_out))


class Policy(nn.Module):
    def __init__(self, n_obs):
        super().__init__()
        self.net = mlp(n_obs, 2)

    def forward(self, s):
        mu, log_std = self.net(s).chunk(2, -1)
        dist = torch.distributions.Normal(mu, log_std.clamp(-4, 1).exp())
        z = dist.rsample()
        a = torch.tanh(z)
        log_prob = (dist.log_prob(z) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)
        return a, log_prob, torch.tanh(mu)


class SACAgent:
    def __init__(self, n_obs, gamma=0.97, tau=0.01, alpha=0.05):
        self.actor = Policy(n_obs)
        self.qf1, self.qf2, self.vf = mlp(n_obs + 1, 1), mlp(n_obs + 1, 1), mlp(n_obs, 1)
        self.vf_target = copy.deepcopy(self.vf)
        self.gamma, self.tau, self.alpha = gamma, tau, alpha
        self.q_opt = torch.optim.Adam([*self.qf1.parameters(), *self.qf2.parameters()], lr=1e-3)
        self.v_opt = torch.optim.Adam(self.vf.parameters(), lr=1e-3)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)

    def policy_loss(self, s):
        a, log_prob, _ = self.actor(s)
        sa = torch.cat([s, a], 1)
        q = torch.min(self.qf1(sa), self.qf2(sa))
        return (self.alpha * log_prob - q).mean(), (q - self.alpha * log_prob).detach()

    def update_model(self, s, a, r, s2):
        with torch.no_grad():
            q_target = r + self.gamma * self.vf_target(s2)
        sa = torch.cat([s, a], 1)
        q_loss = F.mse_loss(self.qf1(sa), q_target) + F.mse_loss(self.qf2(sa), q_target)
        actor_loss, v_target = self.policy_loss(s)  # CULPRIT
        v_loss = F.mse_loss(self.vf(s), v_target)

        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()  # CULPRIT

        self.v_opt.zero_grad()
        v_loss.backward()
        self.v_opt.step()

        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        with torch.no_grad():
            for t, p in zip(self.vf_target.parameters(), self.vf.parameters()):
                t.lerp_(p, self.tau)
        return q_loss.item(), v_loss.item(), actor_loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2400)
    ap.add_argument("--warmup", type=int, default=300)
    ap.add_argument("--batch", type=int, default=64)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    env, agent, memory = Submersible(), SACAgent(2), []
    s, score, scores = env.reset(), 0.0, []
    for step in range(1, args.steps + 1):
        if step <= args.warmup:
            a = random.uniform(-1, 1)
        else:
            with torch.no_grad():
                a = agent.actor(torch.tensor([s]))[0].item()
        s2, r, done = env.step(a)
        memory.append((s, [a], [r], s2))
        score += r
        s = s2
        if done:
            scores.append(score)
            s, score = env.reset(), 0.0
        if step > args.warmup:
            batch = [torch.tensor(c) for c in zip(*random.sample(memory, args.batch))]
            losses = agent.update_model(*batch)
            if step % 300 == 0:
                print(f"step {step} q {losses[0]:.3f} v {losses[1]:.3f} pi {losses[2]:.3f} score {sum(scores[-5:]) / 5:.2f}")


if __name__ == "__main__":
    main()
