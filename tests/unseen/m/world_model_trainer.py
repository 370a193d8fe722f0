"""WRONG. gradient_clip_norm is 0.5, but the gradient norm seen by the optimizer is several hundred times larger; the clipping seems to do nothing.
TRUTH: clip_grad_norm_ stands in training_step, i.e. before backward() of the same step, where the gradients are still the old ones; it must be done between backward and step, e.g. in the on_after_backward hook that the trainer offers.
THREAD: https://github.com/simchowitzlabpublic/nano-world-model/pull/22
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

CONFIG = {
    "state_dim": 6,
    "action_dim": 2,
    "hidden": 32,
    "horizon": 4,
    "lr": 0.05,
    "gradient_clip_norm": 0.5,
    "max_steps": 60,
}


class Module(nn.Module):
    def training_step(self, batch, step):
        raise NotImplementedError

    def on_after_backward(self):
        pass

    def configure_optimizers(self):
        raise NotImplementedError


class WorldModel(Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.dynamics = nn.Sequential(
            nn.Linear(cfg["state_dim"] + cfg["action_dim"], cfg["hidden"]),
            nn.Tanh(),
            nn.Linear(cfg["hidden"], cfg["state_dim"]),
        )

    def rollout(self, s, actions):
        preds = []
        for t in range(actions.size(1)):
            s = s + self.dynamics(torch.cat([s, actions[:, t]], dim=-1))
            preds.append(s)
        return torch.stack(preds, dim=1)

    def training_step(self, batch, step):
        s0, actions, target = batch
        pred = self.rollout(s0, actions)
        loss = F.mse_loss(pred, target)
        if self.cfg["gradient_clip_norm"] is not None:
            nn.utils.clip_grad_norm_(self.parameters(), self.cfg["gradient_clip_norm"])  # CULPRIT
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.cfg["lr"])


class Trainer:
    def __init__(self, max_steps, callbacks=()):
        self.max_steps = max_steps
        self.callbacks = callbacks

    def fit(self, module, batches):
        optimizer = module.configure_optimizers()
        module.train()
        for step in range(self.max_steps):
            loss = module.training_step(batches[step % len(batches)], step)
            optimizer.zero_grad()
            loss.backward()
            module.on_after_backward()
            for cb in self.callbacks:
                cb(step, module, loss)
            optimizer.step()


class GradNormLogger:
    def __init__(self):
        self.norms, self.losses = [], []

    def __call__(self, step, module, loss):
        total = torch.stack([p.grad.norm() for p in module.parameters()]).norm().item()
        self.norms.append(total)
        self.losses.append(loss.item())
        if step % 12 == 11:
            print(f"step {step:2d} loss {loss.item():.4g} gradient_norm {total:.4g}")


def make_batches(cfg, n=12, batch=16):
    a = torch.eye(cfg["state_dim"]) + 0.05 * torch.randn(cfg["state_dim"], cfg["state_dim"])
    b = 0.3 * torch.randn(cfg["action_dim"], cfg["state_dim"])
    out = []
    for i in range(n):
        s = torch.randn(batch, cfg["state_dim"])
        if i % 4 == 3:
            s = s * 40
        act = torch.randn(batch, cfg["horizon"], cfg["action_dim"])
        states, cur = [], s
        for t in range(cfg["horizon"]):
            cur = cur @ a + act[:, t] @ b
            states.append(cur)
        out.append((s, act, torch.stack(states, 1)))
    return out


def main():
    model = WorldModel(CONFIG)
    logger = GradNormLogger()
    Trainer(CONFIG["max_steps"], [logger]).fit(model, make_batches(CONFIG))
    print(f"largest gradient norm at the optimizer: {max(logger.norms):.4g} "
          f"(limit {CONFIG['gradient_clip_norm']})")


if __name__ == "__main__":
    main()
