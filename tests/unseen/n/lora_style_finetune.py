"""WRONG. max_grad_norm has no effect in the LoRA fine-tuning: the logged gradient norm is always 0.0 and a single odd batch throws the adapters far away.
TRUTH: lora_layers is a filter iterator; the optimizer uses it up, and clip_grad_norm_ then gets an empty iterator. Make it a list.
THREAD: https://github.com/PixArt-alpha/PixArt-alpha/pull/160
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Args:
    rank = 4
    lora_alpha = 8
    learning_rate = 0.05
    max_grad_norm = 1.0
    max_train_steps = 60
    gradient_accumulation_steps = 2
    train_batch_size = 16


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.t() @ self.lora_B.t()) * self.scaling


class Denoiser(nn.Module):
    def __init__(self, dim=12, hidden=32):
        super().__init__()
        self.to_q = nn.Linear(dim + 1, hidden)
        self.to_v = nn.Linear(hidden, hidden)
        self.to_out = nn.Linear(hidden, dim)

    def forward(self, noisy, t):
        h = torch.cat([noisy, t.unsqueeze(1)], dim=1)
        return self.to_out(F.silu(self.to_v(F.silu(self.to_q(h)))))


def inject_lora(model, args, targets=("to_q", "to_v", "to_out")):
    for name in targets:
        setattr(model, name, LoRALinear(getattr(model, name), args.rank, args.lora_alpha))


def sample_batch(args, step):
    x0 = torch.randn(args.train_batch_size, 12) * 0.2 + torch.linspace(-1, 1, 12)
    if step % 25 == 24:
        x0 = x0 * 60.0
    t = torch.rand(args.train_batch_size)
    noise = torch.randn_like(x0)
    noisy = (1 - t).unsqueeze(1) * x0 + t.unsqueeze(1) * noise
    return noisy, t, noise - x0


@torch.no_grad()
def validation_loss(model, args):
    gen_state = torch.get_rng_state()
    torch.manual_seed(1234)
    noisy, t, target = sample_batch(args, 0)
    torch.set_rng_state(gen_state)
    return F.mse_loss(model(noisy, t), target).item()


def main():
    args = Args()
    model = Denoiser()
    model.requires_grad_(False)
    inject_lora(model, args)

    lora_layers = filter(lambda p: p.requires_grad, model.parameters())  # CULPRIT
    optimizer = torch.optim.SGD(lora_layers, lr=args.learning_rate, momentum=0.5)
    lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 5))
    n_trainable = sum(p.numel() for g in optimizer.param_groups for p in g["params"])
    print("trainable parameters:", n_trainable, "start val", round(validation_loss(model, args), 4))

    global_step, train_loss, grad_norm = 0, 0.0, None
    for step in range(args.max_train_steps):
        noisy, t, target = sample_batch(args, step)
        loss = F.mse_loss(model(noisy, t), target) / args.gradient_accumulation_steps
        loss.backward()
        train_loss += loss.item()
        if (step + 1) % args.gradient_accumulation_steps == 0:
            params_to_clip = lora_layers
            grad_norm = torch.nn.utils.clip_grad_norm_(params_to_clip, args.max_grad_norm)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
            global_step += 1
            if global_step % 5 == 0:
                print(f"step {global_step:3d} loss {train_loss:.4f} grad_norm {float(grad_norm):.4f} "
                      f"val {validation_loss(model, args):.4f}")
            train_loss = 0.0


if __name__ == "__main__":
    main()
