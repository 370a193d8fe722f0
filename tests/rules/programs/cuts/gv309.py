"""GV309: numpy-roundtrip."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "numpy_array_of_a_tensor",
        """
        import numpy as np
        import torch
        from torch import nn
        enc, head = nn.Linear(2, 2), nn.Linear(2, 1)
        h = enc(torch.ones(3, 2))
        arr = np.array(h.detach())  # CULPRIT
        loss = head(torch.as_tensor(arr / 2)).pow(2).mean()
        loss.backward()
        """,
        "numpy-roundtrip",
    ),
    case(
        "through_numpy_and_back",
        """
        import numpy as np
        import torch
        from torch import nn

        encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)

        def features(x):
            hidden = encoder(x)
            array = hidden.detach().numpy()  # CULPRIT
            array = np.maximum(array, 0.0) ** 2
            return torch.from_numpy(array)

        opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            out = head(features(torch.randn(3, 4)))
            opt.zero_grad()
            out.pow(2).mean().backward()
            opt.step()
        """,
        "numpy-roundtrip",
        related=["comes back as a constant"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "array_kept_and_made_a_tensor_later",
        """
        import numpy as np
        import torch
        encode, decode = torch.nn.Linear(3, 4), torch.nn.Linear(4, 3)
        opt = torch.optim.SGD([*encode.parameters(), *decode.parameters()], lr=0.1)
        x = torch.randn(5, 3)
        code = encode(x).detach().numpy()  # CULPRIT
        smooth = np.convolve(code.ravel(), np.ones(3) / 3, mode="same")
        again = torch.from_numpy(smooth.reshape(5, 4).astype(np.float32))  # INSTEAD
        decode(again).sub(x).pow(2).mean().backward()
        """,
        "numpy-roundtrip",
    ),
]
