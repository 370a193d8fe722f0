"""WRONG. Reconstructing one item after the other from encoder features, the process needs more memory and more time with each item, although nothing is kept outside of reconstruct().
TRUTH: every FeatureExtractor registers forward hooks on the shared encoder and never removes them; the hooks of all former extractors live on and keep storing features. Keep the handles and remove them at the end of reconstruct.
THREAD: https://github.com/KamitaniLab/bdpy/issues/72
"""
import gc

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ItemEncoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Sequential(nn.Linear(dim, 48), nn.ReLU()),
            nn.Sequential(nn.Linear(48, 48), nn.ReLU()),
            nn.Sequential(nn.Linear(48, 16)),
        )

    def forward(self, x):
        return self.blocks(x)


class FeatureExtractorHandle:
    def __init__(self):
        self.outputs = []

    def __call__(self, module, inputs, output):
        self.outputs.append(output)


class FeatureExtractor:
    def __init__(self, encoder, layers, detach=True):
        self._encoder = encoder
        self._layers = layers
        self.__detach = detach
        self._extractors = {}
        self._hooks = []
        for layer in self._layers:
            handle = FeatureExtractorHandle()
            self._extractors[layer] = handle
            layer_object = dict(encoder.named_modules())[layer]
            layer_object.register_forward_hook(handle)  # CULPRIT

    def run(self, x):
        for handle in self._extractors.values():
            handle.outputs.clear()
        self._encoder(x)
        features = {layer: self._extractors[layer].outputs[-1] for layer in self._layers}
        if self.__detach:
            features = {k: v.detach() for k, v in features.items()}
        return features

    def close(self):
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()


class ImageDomain:
    """keeps the reconstruction in a valid range"""

    def receive(self, raw):
        return torch.tanh(raw)


def feature_loss(features, targets, weights):
    return sum(weights[k] * F.mse_loss(features[k], targets[k]) for k in targets)


def reconstruct(target_features, encoder, layers, n_iter=12, lr=0.1):
    extractor = FeatureExtractor(encoder, layers, detach=False)
    weights = {k: 1.0 / v.pow(2).mean().item() for k, v in target_features.items()}
    raw = nn.Parameter(0.1 * torch.randn(4, 24))
    domain = ImageDomain()
    optimizer = torch.optim.Adam([raw], lr=lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.97)
    for _ in range(n_iter):
        features = extractor.run(domain.receive(raw))
        loss = feature_loss(features, target_features, weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    extractor.close()
    return domain.receive(raw).detach(), loss.item()


def live_tensors():
    gc.collect()
    return sum(1 for o in gc.get_objects() if type(o) is torch.Tensor and o.requires_grad and not o.is_leaf)


def count_hooks(encoder):
    return sum(len(m._forward_hooks) for m in encoder.modules())


def main():
    encoder = ItemEncoder().eval()
    for p in encoder.parameters():
        p.requires_grad_(False)
    layers = ["blocks.0", "blocks.1", "blocks.2"]
    errors = []
    for i in range(10):
        item = torch.tanh(torch.randn(4, 24))
        target_extractor = FeatureExtractor(encoder, layers, detach=True)
        target = target_extractor.run(item)
        target_extractor.close()
        result, loss = reconstruct(target, encoder, layers)
        errors.append(F.mse_loss(result, item).item())
        if i % 3 == 0:
            print(f"item {i} loss {loss:.4f} error {errors[-1]:.4f} hooks on the encoder {count_hooks(encoder)} "
                  f"graph tensors alive {live_tensors()}")


if __name__ == "__main__":
    main()
