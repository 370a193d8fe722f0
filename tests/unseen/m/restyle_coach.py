"""WRONG. With n_iters_per_batch = 1 the coach trains; with 3 refinement passes per batch it stops with "Trying to backward through the graph a second time".
TRUTH: every refinement pass calls backward, but the reconstruction and latent handed to the next pass are still attached to the graph of the pass before, which backward has freed; hand over y_hat.detach(), latent.detach().
THREAD: https://github.com/yuval-alaluf/restyle-encoder/issues/15
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

opts = {
    "n_iters_per_batch": 3,
    "latent_dim": 8,
    "image_dim": 24,
    "batch_size": 16,
    "max_steps": 30,
    "l2_lambda": 1.0,
    "w_norm_lambda": 0.01,
    "learning_rate": 3e-3,
}


class Decoder(nn.Module):
    """Stands for the pretrained generator."""

    def __init__(self, latent, image):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 32), nn.LeakyReLU(0.2), nn.Linear(32, image))

    def forward(self, w):
        return self.net(w)


class pSp(nn.Module):
    def __init__(self, opts):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(2 * opts["image_dim"], 64), nn.ReLU(),
            nn.Linear(64, opts["latent_dim"]),
        )
        self.decoder = Decoder(opts["latent_dim"], opts["image_dim"])
        self.decoder.requires_grad_(False)
        self.register_buffer("latent_avg", torch.zeros(1, opts["latent_dim"]))

    def avg_image(self, n):
        with torch.no_grad():
            return self.decoder(self.latent_avg).expand(n, -1)

    def forward(self, x, latent):
        latent = latent + self.encoder(x)
        return self.decoder(latent), latent


class Coach:
    def __init__(self, opts):
        self.opts = opts
        self.net = pSp(opts)
        self.optimizer = torch.optim.Adam(self.net.encoder.parameters(), lr=opts["learning_rate"])
        self.global_step = 0

    def calc_loss(self, y, y_hat, latent):
        loss_dict = {}
        loss_l2 = F.mse_loss(y_hat, y)
        loss_dict["loss_l2"] = loss_l2.item()
        loss = loss_l2 * self.opts["l2_lambda"]
        w_norm = (latent - self.net.latent_avg).pow(2).sum(-1).mean()
        loss_dict["loss_w_norm"] = w_norm.item()
        loss = loss + w_norm * self.opts["w_norm_lambda"]
        loss_dict["loss"] = loss.item()
        return loss, loss_dict

    def perform_train_iteration_on_batch(self, x, y):
        y_hat = self.net.avg_image(x.size(0))
        latent = self.net.latent_avg.expand(x.size(0), -1)
        state, per_iter = (y_hat, latent), []
        for _ in range(self.opts["n_iters_per_batch"]):
            prev_img, prev_latent = state
            x_input = torch.cat([x, prev_img], dim=1)
            y_hat, latent = self.net(x_input, prev_latent)
            loss, loss_dict = self.calc_loss(y, y_hat, latent)
            loss.backward()
            per_iter.append(loss_dict)
            state = (y_hat, latent)  # CULPRIT
        return per_iter

    def sample(self):
        with torch.no_grad():
            w = torch.randn(self.opts["batch_size"], self.opts["latent_dim"])
            return self.net.decoder(w)

    def train(self):
        self.net.train()
        while self.global_step < self.opts["max_steps"]:
            x = self.sample()
            self.optimizer.zero_grad()
            per_iter = self.perform_train_iteration_on_batch(x, x)
            self.optimizer.step()
            self.global_step += 1
            if self.global_step % 10 == 0:
                trace = " -> ".join(f"{d['loss_l2']:.4f}" for d in per_iter)
                print(f"step {self.global_step} l2 per pass: {trace}")


def main():
    Coach(opts).train()


if __name__ == "__main__":
    main()
