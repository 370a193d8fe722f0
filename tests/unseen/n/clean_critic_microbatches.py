"""RIGHT. Critic with gradient penalty whose gradients are accumulated over micro-batches, with three backward calls before one step.
TRUTH: each part is divided by the number of micro-batches and the gradients are zeroed once before them, so accumulation gives the mean gradient. real_score.backward(), fake_score.backward() and the penalty have graphs of their own, so no retain_graph is needed; the penalty is built with create_graph=True, flattened per sample, on detached interpolates, and the fakes come from no_grad because only the critic is trained.
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

opts = {"micro": 4, "size": 16, "dim": 6, "lambda": 10.0, "steps": 40, "lr": 2e-3, "drift": 1e-3}


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.SiLU(),
                                  nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.SiLU())
        self.head = nn.Linear(16 * 3 * 3, 1)

    def forward(self, x):
        return self.head(self.conv(x).flatten(1)).squeeze(1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 36)

    def forward(self, z):
        return torch.tanh(self.fc(z)).view(-1, 1, 6, 6)


def real_images(n):
    x = torch.full((n, 1, opts["dim"], opts["dim"]), -1.0)
    col = torch.randint(0, opts["dim"], (n,))
    x[torch.arange(n), 0, :, col] = 1.0
    return x + 0.05 * torch.randn_like(x)


def penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, 1, 1)
    x = torch.lerp(fake, real, eps).requires_grad_(True)
    g, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


def critic_step(critic, gen, opt):
    opt.zero_grad(set_to_none=True)
    logs = torch.zeros(3)
    k = opts["micro"]
    for _ in range(k):
        real = real_images(opts["size"])
        with torch.no_grad():
            fake = gen(torch.randn(opts["size"], 3))

        score = critic(real)
        ((-score.mean() + opts["drift"] * score.pow(2).mean()) / k).backward()
        logs[0] += score.detach().mean() / k

        score = critic(fake)
        (score.mean() / k).backward()
        logs[1] += score.detach().mean() / k

        gp = penalty(critic, real, fake)
        (opts["lambda"] * gp / k).backward()
        logs[2] += gp.detach() / k
    norm = nn.utils.clip_grad_norm_(critic.parameters(), 50.0)
    opt.step()
    return logs.tolist(), norm.item()


def main():
    critic, gen = Critic(), Generator()
    opt = torch.optim.Adam(critic.parameters(), lr=opts["lr"], betas=(0.0, 0.9))
    for step in range(opts["steps"]):
        (r, f, gp), norm = critic_step(critic, gen, opt)
        if step % 10 == 0 or step == opts["steps"] - 1:
            print(f"step {step:3d} W estimate {r - f:.3f} penalty {gp:.4f} grad norm {norm:.2f}")


if __name__ == "__main__":
    main()
