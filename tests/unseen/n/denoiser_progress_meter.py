"""WRONG. The memory of the process rises with every training step of the denoiser until it is killed; the model and the batch are of constant size.
TRUTH: the running average of the reconstruction error is computed with tensors that still hang on the graph, so each value keeps the graphs (and saved activations) of all steps before alive. Average numbers: use err.item() (or err.detach()) in the update.
THREAD: https://github.com/alexhernandezgarcia/gflownet/pull/133
"""
import resource
import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = {"dim": 784, "batch": 256, "T": 50, "hidden": 64, "lr": 2e-3, "steps": 60}


class Schedule:
    def __init__(self, T):
        betas = torch.linspace(1e-3, 0.12, T)
        self.alpha_bar = torch.cumprod(1 - betas, dim=0)

    def coeff(self, t):
        ab = self.alpha_bar[t].unsqueeze(1)
        return ab.sqrt(), (1 - ab).sqrt()


class Denoiser(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.T = cfg["T"]
        self.time = nn.Embedding(cfg["T"], cfg["hidden"])
        self.inp = nn.Linear(cfg["dim"], cfg["hidden"])
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(cfg["hidden"], cfg["hidden"]), nn.SiLU(),
                                 nn.Linear(cfg["hidden"], cfg["dim"]))

    def forward(self, x, t):
        return self.out(self.inp(x) + self.time(t))


class RunningError:
    """exponential moving averages, one for the low and one for the high noise levels"""

    def __init__(self, beta=0.95):
        self.beta = beta
        self.values = {}

    def update(self, name, err):
        if name not in self.values:
            self.values[name] = err.item()
        else:
            self.values[name] = self.beta * self.values[name] + (1 - self.beta) * err  # CULPRIT

    def report(self):
        return " ".join(f"{k} {torch.as_tensor(v).item():.4f}"
                        for k, v in sorted(self.values.items()))


def batches(cfg):
    basis = torch.randn(6, cfg["dim"]) / 2
    while True:
        yield torch.tanh(torch.randn(cfg["batch"], 6) @ basis)


def memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    sched, model = Schedule(cfg["T"]), Denoiser(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    lr_sched = torch.optim.lr_scheduler.LinearLR(opt, 0.2, 1.0, total_iters=10)
    running = RunningError()
    data = batches(cfg)
    marks = {}

    for step in range(cfg["steps"]):
        x0 = next(data)
        t = torch.randint(0, cfg["T"], (x0.size(0),))
        a, s = sched.coeff(t)
        eps = torch.randn_like(x0)
        x_t = a * x0 + s * eps
        eps_hat = model(x_t, t)

        loss = nn.functional.mse_loss(eps_hat, eps)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        lr_sched.step()

        x0_hat = ((x_t - s * eps_hat) / a).clamp(-1, 1)
        err = (x0_hat - x0).pow(2).mean(dim=1)
        low = t < cfg["T"] // 2
        running.update("low", err[low].mean())
        running.update("high", err[~low].mean())

        if step % 10 == 9:
            marks[step + 1] = memory_mb()
            print(f"step {step + 1:3d} loss {loss.item():.4f} {running.report()} "
                  f"memory {marks[step + 1]:.0f} MB")

    print(f"growth of the memory from step 20 to step {cfg['steps']}: "
          f"{marks[cfg['steps']] - marks[20]:.1f} MB")


if __name__ == "__main__":
    main()
