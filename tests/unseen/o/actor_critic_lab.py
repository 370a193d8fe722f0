"""Actor-critic agent (lab style: body, algorithm, net) on a small corridor, shared network with two heads.

TRUTH: torch.tensor(body.log_probs) makes a new tensor from the numbers and leaves the graph of the policy behind, so the
policy loss gives no gradient; the value loss still does and backward raises nothing. Symptom: the critic's loss falls, the
return stays at the random level and the policy head never changes. Fix: torch.stack. Drawn from kengz/SLM-Lab#133.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SPEC = {
    "agent": {"gamma": 0.97, "policy_loss_coef": 1.0, "val_loss_coef": 0.5, "normalize_adv": True},
    "net": {"hid": 32, "lr": 5e-3, "clip_grad_val": 0.5},
    "env": {"length": 9, "max_t": 30},
    "meta": {"max_episode": 200, "seed": 2, "log_every": 40},
}


class Corridor:
    """Start in the middle; right end pays 1, left end pays 0.1, every step costs 0.02."""

    def __init__(self, length, max_t):
        self.length, self.max_t = length, max_t

    def reset(self):
        self.pos, self.t = self.length // 2, 0
        return self.state()

    def state(self):
        s = np.zeros(self.length, dtype=np.float32)
        s[self.pos] = 1.0
        return s

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        if self.pos == self.length - 1:
            return self.state(), 1.0, True
        if self.pos == 0:
            return self.state(), 0.1, True
        return self.state(), -0.02, self.t >= self.max_t


class Body:
    def __init__(self):
        self.flush()

    def flush(self):
        self.log_probs, self.values, self.rewards, self.states = [], [], [], []

    def update(self, state, log_prob, value, reward):
        self.states.append(state)
        self.log_probs.append(log_prob)
        self.values.append(value)
        self.rewards.append(reward)


class SharedNet(nn.Module):
    def __init__(self, state_dim, action_dim, hid):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(state_dim, hid), nn.Tanh())
        self.actor_tail = nn.Linear(hid, action_dim)
        self.critic_tail = nn.Linear(hid, 1)

    def forward(self, x):
        x = self.body(x)
        return self.actor_tail(x), self.critic_tail(x).squeeze(-1)


class ActorCritic:
    def __init__(self, spec, state_dim, action_dim, body):
        self.cfg, self.net_cfg, self.body = spec["agent"], spec["net"], body
        self.net = SharedNet(state_dim, action_dim, self.net_cfg["hid"])
        self.optim = torch.optim.Adam(self.net.parameters(), lr=self.net_cfg["lr"])

    def act(self, state):
        logits, value = self.net(torch.from_numpy(state))
        pd = torch.distributions.Categorical(logits=logits)
        action = pd.sample()
        return action.item(), pd.log_prob(action), value

    def calc_returns(self):
        rets, future = [], 0.0
        for r in reversed(self.body.rewards):
            future = r + self.cfg["gamma"] * future
            rets.insert(0, future)
        return torch.tensor(rets, dtype=torch.float32)

    def calc_policy_loss(self, advs):
        log_probs = torch.tensor(self.body.log_probs)  # CULPRIT
        if self.cfg["normalize_adv"] and len(advs) > 1:
            advs = advs / (advs.abs().mean() + 1e-5)
        return self.cfg["policy_loss_coef"] * -(log_probs * advs).mean()

    def calc_val_loss(self, returns, values):
        return self.cfg["val_loss_coef"] * F.mse_loss(values, returns)

    def train(self):
        returns = self.calc_returns()
        values = torch.stack(self.body.values)
        policy_loss = self.calc_policy_loss((returns - values).detach())
        val_loss = self.calc_val_loss(returns, values)
        loss = policy_loss + val_loss
        self.optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.net_cfg["clip_grad_val"])
        self.optim.step()
        self.body.flush()
        return policy_loss.item(), val_loss.item()


def run_session(spec):
    torch.manual_seed(spec["meta"]["seed"])
    np.random.seed(spec["meta"]["seed"])
    env, body = Corridor(**spec["env"]), Body()
    agent = ActorCritic(spec, env.length, 2, body)
    tail0 = agent.net.actor_tail.weight.detach().clone()
    rets, vls = [], []
    for epi in range(1, spec["meta"]["max_episode"] + 1):
        state, done, total = env.reset(), False, 0.0
        while not done:
            action, log_prob, value = agent.act(state)
            nxt, reward, done = env.step(action)
            body.update(state, log_prob, value, reward)
            state, total = nxt, total + reward
        rets.append(total)
        vls.append(agent.train()[1])
        if epi % spec["meta"]["log_every"] == 0:
            k = spec["meta"]["log_every"]
            print(f"epi {epi:3d} return {np.mean(rets[-k:]):.3f} val_loss {np.mean(vls[-k:]):.4f} "
                  f"actor tail moved {(agent.net.actor_tail.weight - tail0).abs().mean().item():.4f}")


if __name__ == "__main__":
    run_session(SPEC)
