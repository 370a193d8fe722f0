"""CORRECT. The fake images are not detached when the discriminator is trained, so d_loss.backward() also fills the
generator's .grad; but only d_optimizer steps, and reset_grad() clears both before g_loss.backward(). Wasteful, not wrong.
THREAD: https://github.com/yunjey/pytorch-tutorial/issues/56 "Potential bug of GAN example" (answered: not a bug)
"""
import torch
import torch.nn as nn

latent_size, hidden_size, data_size, batch_size = 4, 64, 2, 100
torch.manual_seed(0)

D = nn.Sequential(
    nn.Linear(data_size, hidden_size),
    nn.LeakyReLU(0.2),
    nn.Linear(hidden_size, hidden_size),
    nn.LeakyReLU(0.2),
    nn.Linear(hidden_size, 1),
    nn.Sigmoid())

G = nn.Sequential(
    nn.Linear(latent_size, hidden_size),
    nn.ReLU(),
    nn.Linear(hidden_size, hidden_size),
    nn.ReLU(),
    nn.Linear(hidden_size, data_size))

criterion = nn.BCELoss()
d_optimizer = torch.optim.Adam(D.parameters(), lr=0.001, betas=(0.5, 0.999))
g_optimizer = torch.optim.Adam(G.parameters(), lr=0.001, betas=(0.5, 0.999))


def reset_grad():
    d_optimizer.zero_grad()
    g_optimizer.zero_grad()


def real_data():
    a = torch.randn(batch_size, 2)
    return a @ torch.tensor([[1.0, 0.6], [0.0, 0.5]]) + torch.tensor([3., -2.])


for step in range(1, 901):
    images = real_data()
    real_labels = torch.ones(batch_size, 1)
    fake_labels = torch.zeros(batch_size, 1)

    # train the discriminator
    outputs = D(images)
    d_loss_real = criterion(outputs, real_labels)
    real_score = outputs

    z = torch.randn(batch_size, latent_size)
    fake_images = G(z)
    outputs = D(fake_images)
    d_loss_fake = criterion(outputs, fake_labels)
    fake_score = outputs

    d_loss = d_loss_real + d_loss_fake
    reset_grad()
    d_loss.backward()
    d_optimizer.step()

    # train the generator
    z = torch.randn(batch_size, latent_size)
    fake_images = G(z)
    outputs = D(fake_images)
    g_loss = criterion(outputs, real_labels)

    reset_grad()
    g_loss.backward()
    g_optimizer.step()

    if step % 150 == 0:
        with torch.no_grad():
            pts = G(torch.randn(2000, latent_size))
            err = (pts.mean(0) - torch.tensor([3., -2.])).norm() + (torch.cov(pts.T) - torch.tensor([[1., .6], [.6, .61]])).norm()
        print('Step [{}], d_loss: {:.4f}, g_loss: {:.4f}, D(x): {:.2f}, D(G(z)): {:.2f}, moment error: {:.3f}'.format(
            step, d_loss.item(), g_loss.item(), real_score.mean().item(), fake_score.mean().item(), err.item()))
