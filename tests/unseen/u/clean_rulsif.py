"""Direct density ratio estimation for covariate shift, importance weights by a ReLU net."""
import torch
from torch import nn

torch.manual_seed(0)
train_x = torch.randn(2000, 2) * 2
test_x = torch.randn(2000, 2) * 0.3 + torch.tensor([1.0, -1.0])
ratio = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Softplus())
optimizer = torch.optim.AdamW(ratio.parameters(), lr=2e-3, weight_decay=1e-3)
for step in range(500):
    r_train = ratio(train_x[torch.randint(2000, (256,))])
    r_test = ratio(test_x[torch.randint(2000, (256,))])
    loss = 0.5 * r_train.pow(2).mean() - r_test.mean()  # at least -E[true ratio^2] / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
with torch.no_grad():
    print("mean weight (should be 1)", ratio(train_x).mean().item())
