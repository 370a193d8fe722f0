"""RIGHT. Actor-critic with a shared recurrent body, where the gradient of both losses on the body is measured first and the losses are then balanced; one graph is walked three times.
TRUTH: the two measuring calls of autograd.grad keep the graph (retain_graph=True) and write no .grad; the last backward frees it; the advantage is detached for the actor while the critic keeps its own gradient; the balance factor is a float; the rollout builds its graph anew in each episode batch with a zero state.
"""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)

cfg = dict(batch=48, length=8, hidden=24, actions=3, gamma=0.8, lr=8e-3, updates=50, entropy=0.01)


class CueTask:
    """A cue is shown in the first step only; later the remembered cue has to be chosen for reward."""

    def __init__(self, cfg):
        self.cfg = cfg

    def reset(self):
        self.t = 0
        self.cue = torch.randint(self.cfg["actions"], (self.cfg["batch"],))
        return self.observe()

    def observe(self):
        obs = torch.zeros(self.cfg["batch"], self.cfg["actions"] + 1)
        if self.t == 0:
            obs[torch.arange(self.cfg["batch"]), self.cue] = 1.0
        obs[:, -1] = self.t / self.cfg["length"]
        return obs

    def step(self, action):
        reward = (action == self.cue).float() if self.t > 0 else torch.zeros(self.cfg["batch"])
        self.t += 1
        return self.observe(), reward, self.t >= self.cfg["length"]


class SharedActorCritic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.GRUCell(cfg["actions"] + 1, cfg["hidden"])
        self.actor = nn.Linear(cfg["hidden"], cfg["actions"])
        self.critic = nn.Linear(cfg["hidden"], 1)

    def forward(self, obs, state):
        state = self.body(obs, state)
        return Categorical(logits=self.actor(state)), self.critic(state).squeeze(-1), state


def rollout(env, model, cfg):
    obs, done = env.reset(), False
    state = torch.zeros(cfg["batch"], cfg["hidden"])
    log_probs, values, rewards, entropies = [], [], [], []
    while not done:
        dist, value, state = model(obs, state)
        action = dist.sample()
        obs, reward, done = env.step(action)
        log_probs.append(dist.log_prob(action))
        values.append(value)
        rewards.append(reward)
        entropies.append(dist.entropy())
    return torch.stack(log_probs), torch.stack(values), torch.stack(rewards), torch.stack(entropies)


def discounted(rewards, gamma):
    returns = torch.zeros_like(rewards)
    running = torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running
        returns[t] = running
    return returns


def gradient_norm(loss, params):
    grads = torch.autograd.grad(loss, params, retain_graph=True)
    return torch.stack([g.norm() for g in grads]).norm().item()


def update(model, optimizer, batch, cfg):
    log_probs, values, rewards, entropies = batch
    returns = discounted(rewards, cfg["gamma"])
    advantage = (returns - values).detach()
    actor_loss = -(log_probs * advantage).mean() - cfg["entropy"] * entropies.mean()
    critic_loss = nn.functional.mse_loss(values, returns)
    body = list(model.body.parameters())
    actor_norm, critic_norm = gradient_norm(actor_loss, body), gradient_norm(critic_loss, body)
    balance = min(1.0, actor_norm / (critic_norm + 1e-8))
    optimizer.zero_grad()
    (actor_loss + balance * critic_loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return rewards.sum(dim=0).mean().item(), critic_loss.item(), balance


def main():
    env, model = CueTask(cfg), SharedActorCritic(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["updates"]):
        score, critic_loss, balance = update(model, optimizer, rollout(env, model, cfg), cfg)
        if step % 10 == 0 or step == cfg["updates"] - 1:
            print(f"update {step:2d}  score {score:.2f} of {cfg['length'] - 1}  critic {critic_loss:.3f}  balance {balance:.2f}")


if __name__ == "__main__":
    main()
