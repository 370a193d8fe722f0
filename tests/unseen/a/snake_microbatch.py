"""discuss.pytorch.org, "Gradient accumulation gives the same result as the small batch"
Symptom: accum_steps=8 should act as a batch of 64, but the noise in the loss is like with batch 8.
EXPECT: runs
TRUTH: zero_grad is called at every micro batch, so only the gradient of the last micro batch is there at the step.
Call zero_grad only after optimizer.step()."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Trainer:
    def __init__(self, model, lr=0.1, accum_steps=8):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.accum = accum_steps
        self.n = 0

    def micro_step(self, x, y):
        self.opt.zero_grad()  # CULPRIT
        loss = nn.functional.mse_loss(self.model(x), y) / self.accum
        loss.backward()
        self.n += 1
        if self.n % self.accum == 0:
            self.opt.step()
        return loss.item() * self.accum


X = torch.randn(512, 10)
Y = X @ torch.randn(10, 1) + 2.0 * torch.randn(512, 1)
model = nn.Linear(10, 1)
trainer = Trainer(model)
for epoch in range(10):
    tot = 0.0
    for i in range(0, 512, 8):
        tot += trainer.micro_step(X[i:i + 8], Y[i:i + 8])
    if epoch % 3 == 0:
        print(epoch, tot / 64)
print("loss", nn.functional.mse_loss(model(X), Y).item())
