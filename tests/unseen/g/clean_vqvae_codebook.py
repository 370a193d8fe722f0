"""CORRECT. VQ-VAE with an EMA codebook: the straight-through line input + (quantize - input).detach() feeds the decoder, the codebook is a buffer changed in place under no use of gradients.
THREAD: https://github.com/rosinality/vq-vae-2-pytorch/issues/20
"""
import torch
from torch import nn, optim
from torch.nn import functional as F


class Quantize(nn.Module):
    def __init__(self, dim, n_embed, decay=0.95, eps=1e-5):
        super().__init__()

        self.dim = dim
        self.n_embed = n_embed
        self.decay = decay
        self.eps = eps

        embed = torch.randn(dim, n_embed)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.zeros(n_embed))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, input):
        flatten = input.reshape(-1, self.dim)
        dist = (
            flatten.pow(2).sum(1, keepdim=True)
            - 2 * flatten @ self.embed
            + self.embed.pow(2).sum(0, keepdim=True)
        )
        _, embed_ind = (-dist).max(1)
        embed_onehot = F.one_hot(embed_ind, self.n_embed).type(flatten.dtype)
        embed_ind = embed_ind.view(*input.shape[:-1])
        quantize = self.embed_code(embed_ind)

        if self.training:
            embed_onehot_sum = embed_onehot.sum(0)
            embed_sum = flatten.transpose(0, 1) @ embed_onehot
            self.cluster_size.data.mul_(self.decay).add_(embed_onehot_sum, alpha=1 - self.decay)
            self.embed_avg.data.mul_(self.decay).add_(embed_sum, alpha=1 - self.decay)
            n = self.cluster_size.sum()
            cluster_size = (self.cluster_size + self.eps) / (n + self.n_embed * self.eps) * n
            embed_normalized = self.embed_avg / cluster_size.unsqueeze(0)
            self.embed.data.copy_(embed_normalized)

        diff = (quantize.detach() - input).pow(2).mean()
        quantize = input + (quantize - input).detach()

        return quantize, diff, embed_ind

    def embed_code(self, embed_id):
        return F.embedding(embed_id, self.embed.transpose(0, 1))


class ResBlock(nn.Module):
    def __init__(self, in_channel, channel):
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(in_channel, channel, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channel, in_channel, 1),
        )

    def forward(self, input):
        out = self.conv(input)
        out += input
        return out


class VQVAE(nn.Module):
    def __init__(self, in_channel=1, channel=24, embed_dim=8, n_embed=32):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(in_channel, channel // 2, 4, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channel // 2, channel, 4, stride=2, padding=1),
            ResBlock(channel, 12),
            nn.ReLU(inplace=True),
        )
        self.quantize_conv = nn.Sequential(nn.Conv2d(channel, embed_dim, 1), nn.BatchNorm2d(embed_dim))
        self.quantize = Quantize(embed_dim, n_embed)
        self.dec = nn.Sequential(
            nn.Conv2d(embed_dim, channel, 3, padding=1),
            ResBlock(channel, 12),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(channel, channel // 2, 4, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(channel // 2, in_channel, 4, stride=2, padding=1),
        )

    def forward(self, input):
        quant = self.quantize_conv(self.enc(input)).permute(0, 2, 3, 1)
        quant, diff, ind = self.quantize(quant)
        quant = quant.permute(0, 3, 1, 2)
        return self.dec(quant), diff.unsqueeze(0), ind


def bars(n):
    img = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        a, b = torch.randint(0, 14, (2,)).tolist()
        img[i, 0, a:a + 2] += 0.5
        img[i, 0, :, b:b + 2] += 0.5
    return img


def train(model, optimizer, iterations=120, latent_loss_weight=0.25):
    criterion = nn.MSELoss()
    mse_sum = mse_n = 0
    model.train()
    for i in range(iterations):
        model.zero_grad()
        img = bars(24)
        out, latent_loss, ind = model(img)
        recon_loss = criterion(out, img)
        latent_loss = latent_loss.mean()
        loss = recon_loss + latent_loss_weight * latent_loss
        loss.backward()
        optimizer.step()
        mse_sum += recon_loss.item() * img.shape[0]
        mse_n += img.shape[0]
        if i % 30 == 29:
            print(f"iter {i + 1}; mse: {recon_loss.item():.5f}; latent: {latent_loss.item():.4f}; "
                  f"avg mse: {mse_sum / mse_n:.5f}; codes in use: {ind.unique().numel()}")


if __name__ == "__main__":
    torch.manual_seed(0)
    net = VQVAE()
    train(net, optim.Adam(net.parameters(), lr=3e-3))
    net.eval()
    with torch.no_grad():
        sample = bars(32)
        print("eval mse %.5f" % F.mse_loss(net(sample)[0], sample).item())
