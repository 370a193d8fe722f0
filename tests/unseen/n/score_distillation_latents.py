"""WRONG. With the gradient scaler on, the score distillation has no effect: only the regularizers shape the latents. Without the scaler it works, and lambda_guidance changes nothing in either case.
TRUTH: SpecifyGradient.backward returns gt_grad and ignores the incoming gradient (loss scale and loss weight); return gt_grad * grad_scale.
THREAD: https://github.com/ashawkey/stable-dreamfusion/issues/158
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Opt:
    iters = 60
    lr = 0.05
    lambda_guidance = 1.0
    lambda_opacity = 0.1
    lambda_smooth = 0.01
    fp16 = True
    batch_size = 4


class SpecifyGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_tensor, gt_grad):
        ctx.save_for_backward(gt_grad)
        # we return a dummy value 0, the gradient is given by hand
        return torch.zeros([1], device=input_tensor.device, dtype=input_tensor.dtype)

    @staticmethod
    def backward(ctx, grad_scale):
        gt_grad, = ctx.saved_tensors
        return gt_grad, None  # CULPRIT


class FrozenUNet(nn.Module):
    """stands for the diffusion prior: its noise estimate pulls towards a mode"""

    def __init__(self, dim=16):
        super().__init__()
        self.register_buffer("mode", torch.linspace(-1, 1, dim))

    def forward(self, latents_noisy, sigma):
        return (latents_noisy - self.mode) / sigma


class Guidance(nn.Module):
    def __init__(self):
        super().__init__()
        self.unet = FrozenUNet()

    def train_step(self, latents):
        sigma = 0.5 + torch.rand(latents.size(0), 1)
        with torch.no_grad():
            noise = torch.randn_like(latents)
            noise_pred = self.unet(latents + sigma * noise, sigma)
            grad = sigma * (noise_pred - noise)
            grad = torch.nan_to_num(grad) / latents.size(0)
        return SpecifyGradient.apply(latents, grad)


class Renderer(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.color = nn.Parameter(torch.zeros(dim))
        self.density = nn.Parameter(torch.zeros(dim))

    def forward(self, n_views):
        opacity = torch.sigmoid(self.density)
        latents = self.color.expand(n_views, -1) + 0.01 * torch.randn(n_views, self.color.numel())
        return latents, opacity


class Trainer:
    def __init__(self, opt):
        self.opt = opt
        self.model = Renderer()
        self.guidance = Guidance()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=opt.lr)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda it: 0.5 ** (it / opt.iters))
        self.scaler = torch.amp.GradScaler("cpu", enabled=opt.fp16, init_scale=1024.0, growth_interval=1000)

    def train_step(self):
        latents, opacity = self.model(self.opt.batch_size)
        loss = self.opt.lambda_guidance * self.guidance.train_step(latents).sum()
        if self.opt.lambda_opacity > 0:
            loss = loss + self.opt.lambda_opacity * (opacity ** 2).mean()
        if self.opt.lambda_smooth > 0:
            loss = loss + self.opt.lambda_smooth * F.mse_loss(self.model.color[1:], self.model.color[:-1])
        return loss

    def train(self):
        for it in range(self.opt.iters):
            self.optimizer.zero_grad()
            loss = self.train_step()
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.scheduler.step()
            if it % 15 == 14:
                print(f"it {it + 1} loss {loss.item():.4f} grad norm {norm.item():.5f} "
                      f"distance to the mode {self.distance():.4f}")

    @torch.no_grad()
    def distance(self):
        return (self.model.color - self.guidance.unet.mode).abs().mean().item()


if __name__ == "__main__":
    for use_scaler in (True, False):
        torch.manual_seed(0)
        opt = Opt()
        opt.fp16 = use_scaler
        print("scaler", "on" if use_scaler else "off")
        Trainer(opt).train()
