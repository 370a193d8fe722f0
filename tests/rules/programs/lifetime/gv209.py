"""GV209: intermediate-grad-none."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gradient_of_features",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.head = nn.Conv1d(1, 2, 3), nn.Linear(8, 1)
            def forward(self, x):
                self.features = torch.relu(self.conv(x))  # CULPRIT
                return self.head(self.features.flatten(1))
        net = Net()
        score = net(torch.randn(1, 1, 6)).sum()
        score.backward()
        weights = net.features.grad
        """,
        "intermediate-grad-none",
        says=["ReluBackward0"],
    ),
    case(
        "mean_of_none",
        """
        import torch
        image = torch.rand(1, 3, requires_grad=True)
        scaled = image * 255  # CULPRIT
        scaled.pow(2).sum().backward()
        saliency = scaled.grad.abs()
        """,
        "intermediate-grad-none",
    ),
    case(
        "gradient_of_what_a_hook_kept",
        """
        import torch
        from torch import nn
        class GradCam:
            def __init__(self, net, layer):
                self.net, self.maps = net, None
                layer.register_forward_hook(self.keep)
            def keep(self, module, args, out):
                self.maps = out  # CULPRIT
            def __call__(self, x):
                self.net(x)[0, 1].backward()
                return (self.maps.grad.mean() * self.maps).sum()
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        GradCam(net, net[0])(torch.randn(1, 3))
        """,
        "intermediate-grad-none",
        says=["`self.maps.retain_grad()`"],
    ),
    case(
        "gradient_of_an_item_a_hook_kept",
        """
        import torch
        from torch import nn
        kept = {}
        def keep(name):
            def hook(module, args, out):
                kept[name] = out  # CULPRIT
            return hook
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        net[1].register_forward_hook(keep("tanh"))
        net(torch.randn(1, 3)).sum().backward()
        print(kept["tanh"].grad)
        """,
        "intermediate-grad-none",
    ),
    case(
        "gradients_of_what_a_partial_hook_kept",
        """
        import functools
        import torch
        from torch import nn

        def remember(store, name, module, args, output):
            store[name] = output  # CULPRIT

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
                self.head = nn.Linear(4, 2)

            def forward(self, x):
                return self.head(self.stem(x))

        net, kept = Net(), {}
        for name in ("stem", "head"):
            hook = functools.partial(remember, kept, name)
            getattr(net, name).register_forward_hook(hook)
        net(torch.randn(5, 3)).square().sum().backward()
        print({name: (each.grad * each).sum() for name, each in kept.items()})
        """,
        "intermediate-grad-none",
        says=["`store[name].retain_grad()`"],
    ),
]
