"""WRONG. Fine-tuning the audio encoder raises 'modified by an inplace operation: [torch.FloatTensor [.., .., ..]]' in backward.
TRUTH: x += x_conv adds the positional convolution in place to the tensor that this convolution has saved for its backward; x = x + x_conv (or x.clone() + x_conv).
THREAD: https://github.com/microsoft/unilm/pull/999
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SamePad(nn.Module):
    def __init__(self, kernel_size):
        super().__init__()
        self.remove = 1 if kernel_size % 2 == 0 else 0

    def forward(self, x):
        return x[:, :, :-self.remove] if self.remove > 0 else x


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.self_attn_layer_norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim * 2)
        self.fc2 = nn.Linear(dim * 2, dim)
        self.final_layer_norm = nn.LayerNorm(dim)

    def forward(self, x):
        y, _ = self.self_attn(x, x, x, need_weights=False)
        x = self.self_attn_layer_norm(x + y)
        return self.final_layer_norm(x + self.fc2(F.gelu(self.fc1(x))))


class TransformerEncoder(nn.Module):
    def __init__(self, embed_dim=32, layers=2, conv_pos=8, groups=4):
        super().__init__()
        self.pos_conv = nn.Sequential(
            nn.Conv1d(embed_dim, embed_dim, conv_pos, padding=conv_pos // 2, groups=groups),
            SamePad(conv_pos), nn.GELU())
        self.layer_norm = nn.LayerNorm(embed_dim)
        self.layers = nn.ModuleList([EncoderLayer(embed_dim) for _ in range(layers)])

    def extract_features(self, x):
        x_conv = self.pos_conv(x.transpose(1, 2))
        x_conv = x_conv.transpose(1, 2)
        x += x_conv  # CULPRIT
        x = self.layer_norm(x)
        for layer in self.layers:
            x = layer(x)
        return x


class BEATsClassifier(nn.Module):
    def __init__(self, n_mels=16, embed_dim=32, num_class=3):
        super().__init__()
        self.post_extract_proj = nn.Linear(n_mels, embed_dim)
        self.encoder = TransformerEncoder(embed_dim)
        self.predictor = nn.Linear(embed_dim, num_class)

    def forward(self, fbank):
        x = self.encoder.extract_features(self.post_extract_proj(fbank))
        return self.predictor(x.mean(dim=1))


def fake_fbank(n):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(24).float().view(1, 24, 1)
    x = torch.sin(t * (0.3 + 0.4 * y.view(-1, 1, 1)) + torch.rand(n, 1, 1) * 6)
    return x.repeat(1, 1, 16) + 0.3 * torch.randn(n, 24, 16), y


model = BEATsClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(60):
    x, y = fake_fbank(32)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
