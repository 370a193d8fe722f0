"""CORRECT. Hand written activation checkpointing: forward runs under no_grad, backward detaches the inputs, recomputes with enable_grad
and calls autograd.grad for inputs and parameters. The two leading None are for the non-tensor arguments.
THREAD: openai/consistency_models cm/nn.py CheckpointFunction (as in guided-diffusion)
"""
import torch as th
import torch.nn as nn
import torch.nn.functional as F


class CheckpointFunction(th.autograd.Function):
    @staticmethod
    def forward(ctx, run_function, length, *args):
        ctx.run_function = run_function
        ctx.input_tensors = list(args[:length])
        ctx.input_params = list(args[length:])
        with th.no_grad():
            output_tensors = ctx.run_function(*ctx.input_tensors)
        return output_tensors

    @staticmethod
    def backward(ctx, *output_grads):
        ctx.input_tensors = [x.detach().requires_grad_(True) for x in ctx.input_tensors]
        with th.enable_grad():
            shallow_copies = [x.view_as(x) for x in ctx.input_tensors]
            output_tensors = ctx.run_function(*shallow_copies)
        input_grads = th.autograd.grad(
            output_tensors,
            ctx.input_tensors + ctx.input_params,
            output_grads,
            allow_unused=True,
        )
        del ctx.input_tensors
        del ctx.input_params
        del output_tensors
        return (None, None) + input_grads


def checkpoint(func, inputs, params, flag):
    if flag:
        args = tuple(inputs) + tuple(params)
        return CheckpointFunction.apply(func, len(inputs), *args)
    return func(*inputs)


def timestep_embedding(t, dim):
    freqs = th.exp(-4.0 * th.arange(dim // 2) / (dim // 2))
    a = t[:, None] * 10 * freqs[None]
    return th.cat([a.cos(), a.sin()], -1)


class ResBlock(nn.Module):
    def __init__(self, ch, emb, use_checkpoint=True):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.in_layers = nn.Sequential(nn.LayerNorm(ch), nn.SiLU(), nn.Linear(ch, ch))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(emb, ch))
        self.out_layers = nn.Sequential(nn.LayerNorm(ch), nn.SiLU(), nn.Linear(ch, ch))
        with th.no_grad():
            self.out_layers[2].weight.zero_()
            self.out_layers[2].bias.zero_()

    def forward(self, x, emb):
        return checkpoint(self._forward, (x, emb), self.parameters(), self.use_checkpoint)

    def _forward(self, x, emb):
        h = self.in_layers(x) + self.emb_layers(emb)
        return x + self.out_layers(h)


class Denoiser(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.time = nn.Linear(16, 32)
        self.inp = nn.Linear(2, ch)
        self.blocks = nn.ModuleList([ResBlock(ch, 32) for _ in range(3)])
        self.out = nn.Linear(ch, 2)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, 16))
        h = self.inp(x)
        for b in self.blocks:
            h = b(h, emb)
        return self.out(h)


def main():
    th.manual_seed(0)
    model = Denoiser()
    opt = th.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    for it in range(1, 241):
        a = th.rand(128) * 6.2832
        x0 = th.stack([a.cos(), a.sin()], 1) * (1 + 0.3 * th.sin(3 * a)).unsqueeze(1)
        t, noise = th.rand(128) * 0.5, th.randn(128, 2)
        x_t = (1 - t)[:, None] * x0 + t[:, None] * noise
        loss = F.mse_loss(model(x_t, t), x0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if it == 1 or it % 80 == 0:
            print(f'step {it} loss {sum(losses[-80:]) / len(losses[-80:]):.4f}')


main()
