"""Stack Overflow, "RuntimeError: element 0 of tensors does not require grad after freezing the backbone"
Symptom: I freeze the pretrained net and add a new classifier, backward raises.
EXPECT: raises RuntimeError
TRUTH: The freezing loop runs over all parameters after the new head was put in, so the head is frozen too.
Freeze only the backbone (or before replacing the head)."""
import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self, d_in=16, d=32):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 3, padding=1)
        self.proj = nn.Linear(8 * d_in, d)

    def forward(self, x):
        return torch.relu(self.proj(torch.relu(self.conv(x)).flatten(1)))


class Finetune(nn.Module):
    def __init__(self, backbone, n_classes):
        super().__init__()
        self.backbone = backbone
        self.classifier = nn.Linear(32, n_classes)
        self.freeze()

    def freeze(self):
        for p in self.parameters():  # CULPRIT
            p.requires_grad = False

    def forward(self, x):
        return self.classifier(self.backbone(x))


torch.manual_seed(0)
model = Finetune(Backbone(), 4)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(64, 1, 16)
y = x[:, 0, :4].argmax(1)
for epoch in range(10):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
