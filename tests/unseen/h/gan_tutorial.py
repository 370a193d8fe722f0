"""WRONG. d_loss.backward() raises "one of the variables needed for gradient computation has been modified by an inplace operation".
TRUTH: LeakyReLU and Dropout of the two networks are both inplace=True, so dropout overwrites the activation that LeakyReLU's backward needs; remove inplace=True.
THREAD: https://github.com/dreamgonfly/GAN-tutorial/issues/1
"""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

d_noise = 16
d_hidden = 64
img_size = 8


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.model = nn.Sequential(
            nn.Linear(d_noise, d_hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(d_hidden, d_hidden * 2),
            nn.LeakyReLU(0.2),
            nn.Linear(d_hidden * 2, img_size * img_size),
            nn.Tanh(),
        )

    def forward(self, inputs):
        return self.model(inputs).view(inputs.size(0), 1, img_size, img_size)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(img_size * img_size, d_hidden),
            nn.LeakyReLU(0.2, inplace=True),  # CULPRIT
            nn.Dropout(0.3, inplace=True),  # CULPRIT
            nn.Linear(d_hidden, 1),
            nn.Sigmoid(),
        )

    def forward(self, inputs):
        return self.main(inputs.view(inputs.size(0), -1))


def real_images(n):
    # a bright blob at a random place
    ys, xs = torch.meshgrid(torch.arange(img_size), torch.arange(img_size), indexing='ij')
    cy = torch.randint(2, img_size - 2, (n, 1, 1))
    cx = torch.randint(2, img_size - 2, (n, 1, 1))
    d2 = (ys[None] - cy) ** 2 + (xs[None] - cx) ** 2
    return (2 * torch.exp(-d2.float() / 3) - 1).unsqueeze(1)


G = Generator()
D = Discriminator()

criterion = nn.BCELoss()
d_optimizer = optim.Adam(D.parameters(), lr=0.0002, betas=(0.5, 0.999))
g_optimizer = optim.Adam(G.parameters(), lr=0.0002, betas=(0.5, 0.999))

batch_size = 64


def train_discriminator(images):
    n = images.size(0)
    D.zero_grad()
    p_real = D(images)
    fake = G(torch.randn(n, d_noise)).detach()
    p_fake = D(fake)
    loss_real = criterion(p_real, torch.ones(n, 1))
    loss_fake = criterion(p_fake, torch.zeros(n, 1))
    d_loss = loss_real + loss_fake
    d_loss.backward()
    d_optimizer.step()
    return d_loss.item(), p_real.mean().item(), p_fake.mean().item()


def train_generator(n):
    G.zero_grad()
    p_fake = D(G(torch.randn(n, d_noise)))
    g_loss = criterion(p_fake, torch.ones(n, 1))
    g_loss.backward()
    g_optimizer.step()
    return g_loss.item()


for epoch in range(5):
    for step in range(60):
        images = real_images(batch_size)
        d_loss, p_real, p_fake = train_discriminator(images)
        g_loss = train_generator(batch_size)
    print("Epoch {}  D loss {:.3f}  G loss {:.3f}  p_real {:.2f}  p_fake {:.2f}".format(
        epoch, d_loss, g_loss, p_real, p_fake))
