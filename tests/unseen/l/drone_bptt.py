"""WRONG. Training the drone policy through the simulator (BPTT) stops at actor_loss.backward() with "one of the variables needed for gradient computation has been modified by an inplace operation".
TRUTH: Integrator.integrate updates the velocity with += on the caller's tensor, which drag and reward of the step before have saved for the backward pass; write vel = vel + acc * dt.
THREAD: https://github.com/SJTU-ViSYS-team/VisFly/pull/35
"""
import torch
import torch.nn as nn

cfg = {
    "num_envs": 16,
    "horizon": 12,
    "dt": 0.05,
    "ctrl_substeps": 2,
    "drag": 0.3,
    "gamma": 0.99,
    "lr": 1e-2,
    "iterations": 30,
}


class Integrator:
    @staticmethod
    def integrate(pos, vel, acc, dt, method="semi"):
        if method == "euler":
            pos = pos + vel * dt
            vel = vel + acc * dt
        elif method == "semi":
            vel += acc * dt  # CULPRIT
            pos = pos + vel * dt
        else:
            raise ValueError(method)
        return pos, vel


class Dynamics:
    def __init__(self, num, dt, substeps, drag):
        self.num, self.dt, self.substeps, self.drag = num, dt, substeps, drag
        self._gravity = torch.tensor([0.0, 0.0, -9.81])
        self.reset()

    def reset(self):
        self._position = torch.rand(self.num, 3) * 2 - 1
        self._velocity = torch.zeros(self.num, 3)

    @property
    def position(self):
        return self._position

    @property
    def velocity(self):
        return self._velocity

    def step(self, thrust):
        for _ in range(self.substeps):
            drag = -self.drag * self._velocity * self._velocity.abs()
            acc = thrust + self._gravity + drag
            self._position, self._velocity = Integrator.integrate(
                self._position, self._velocity, acc, self.dt / self.substeps)


class HoverEnv:
    def __init__(self, cfg):
        self.dynamics = Dynamics(cfg["num_envs"], cfg["dt"], cfg["ctrl_substeps"], cfg["drag"])
        self.target = torch.tensor([0.0, 0.0, 1.0])

    def reset(self):
        self.dynamics.reset()
        return self.get_observation()

    def get_observation(self):
        return torch.cat([self.target - self.dynamics.position, self.dynamics.velocity], dim=1)

    def get_reward(self, action):
        base = -(self.dynamics.position - self.target).norm(dim=1)
        speed = -0.05 * self.dynamics.velocity.pow(2).sum(dim=1)
        smooth = -0.001 * action.pow(2).sum(dim=1)
        return base + speed + smooth

    def step(self, action):
        thrust = 6.0 * action + torch.tensor([0.0, 0.0, 9.81])
        self.dynamics.step(thrust)
        return self.get_observation(), self.get_reward(action)


class Actor(nn.Module):
    def __init__(self, obs_dim=6, act_dim=3, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ELU(), nn.Linear(hidden, act_dim), nn.Tanh())

    def forward(self, obs):
        return self.body(obs)


def rollout(env, actor, cfg):
    obs = env.reset()
    discount, total = 1.0, 0.0
    for _ in range(cfg["horizon"]):
        action = actor(obs)
        obs, reward = env.step(action)
        total = total + discount * reward
        discount *= cfg["gamma"]
    return total


def evaluate(env, actor, cfg):
    with torch.no_grad():
        return rollout(env, actor, cfg).mean().item()


def main():
    torch.manual_seed(0)
    env, actor = HoverEnv(cfg), Actor()
    optimizer = torch.optim.Adam(actor.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 15, 0.5)
    print("before", round(evaluate(env, actor, cfg), 3))
    for it in range(cfg["iterations"]):
        actor_loss = -rollout(env, actor, cfg).mean()
        optimizer.zero_grad()
        actor_loss.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if it % 10 == 0:
            print(it, "actor_loss", round(actor_loss.item(), 4))
    print("after", round(evaluate(env, actor, cfg), 3))


if __name__ == "__main__":
    main()
