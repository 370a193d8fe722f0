"""Stack Overflow, "CNN loss hardly moves from 2.3"
Symptom: 10 classes, easy images, the loss only creeps down from 2.30 and could never go under 1.46.
EXPECT: runs
TRUTH: CrossEntropyLoss already applies log_softmax, the network ends with a softmax, so the
loss works on squashed probabilities with tiny gradients. Return raw logits."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
protos = torch.randn(10, 1, 12, 12)
labels = torch.randint(0, 10, (400,))
images = protos[labels] + 0.5 * torch.randn(400, 1, 12, 12)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.fc1 = nn.Linear(16 * 8 * 8, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.fc1(x.flatten(1)))
        return F.softmax(self.fc2(x), dim=1)  # CULPRIT


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(6):
    perm = torch.randperm(400)
    running = 0.0
    for i in range(0, 400, 50):
        idx = perm[i:i + 50]
        optimizer.zero_grad()
        loss = criterion(net(images[idx]), labels[idx])
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / 8:.3f}")
