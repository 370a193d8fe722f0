"""GV694: state-fits-nothing."""

from __future__ import annotations

from tests.rules.harness import Case, case

START = """
            import torch
            from torch import nn
            torch.manual_seed(0)
            def body():
                return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
            class Tagger(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.encoder, self.head = body(), nn.Linear(8, 3)
                def forward(self, x):
                    return self.head(torch.relu(self.encoder(x)))
            class Trainer(nn.Module):
                def __init__(self, net):
                    super().__init__()
                    self.net = net
                def fit(self):
                    learn = [p for p in self.net.parameters() if p.requires_grad]
                    adam = torch.optim.Adam(learn, lr=0.01)
                    for x in torch.randn(3, 6, 4):
                        adam.zero_grad()
                        self.net(x).square().mean().backward()
                        adam.step()
            trainer = Trainer(Tagger())
            trainer.fit()
"""

PROGRAMS: list[Case] = [
    *(
        case(
            name,
            f"""{START}
            {code}
            """,
            "state-fits-nothing",
            says=says,
        )
        for name, code, says in (
            (
                "checkpoint_of_a_trainer_for_its_net",
                """net = Tagger()
            checkpoint = {"epoch": 3, "weights": trainer.state_dict()}
            net.load_state_dict(checkpoint["weights"], strict=False)  # CULPRIT
            Trainer(net).fit()""",
                ["loads none of 6 entries", "k.removeprefix('net.')"],
            ),
            (
                "state_of_a_part_for_the_whole",
                """resumed = Tagger()
            saved = {k: v.clone() for k, v in trainer.net.encoder.state_dict().items()}
            missing, _ = resumed.load_state_dict(saved, strict=False)  # CULPRIT
            print(len(missing))
            Trainer(resumed).fit()""",
                ["`encoder.0.weight` where the state has `0.weight`", "'encoder.' + k"],
            ),
            (
                "another_name_of_the_part_and_one_counter_that_fits",
                """class Frozen(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.backbone, self.head = body(), nn.Linear(8, 3)
                def forward(self, x):
                    return self.head(self.backbone(x))
            student, strict = Frozen(), False
            state = trainer.net.state_dict()
            del state["head.weight"]
            student.load_state_dict(state, strict=strict)  # CULPRIT
            Trainer(student).fit()""",
                ["loads 1 of 5 entries", "'backbone.' + k.removeprefix('encoder.')"],
            ),
            (
                "condition_that_no_key_passes",
                """new = Tagger()
            own, old = new.state_dict(), trainer.state_dict()
            fitting = {k: v for k, v in old.items() if k in own}  # CULPRIT
            new.load_state_dict(fitting, strict=False)
            Trainer(new).fit()""",
                ["no key of the state passes the condition `k in own`"],
            ),
            (
                "prefix_that_no_key_has_in_a_list_of_pairs",
                """from collections import OrderedDict
            def part(state):
                prefix = "backbone."  # CULPRIT
                rows = state.items()
                return OrderedDict(
                    [(k[len(prefix):], v) for k, v in rows if k.startswith(prefix)]
                )
            new = Tagger()
            new.encoder.load_state_dict(part(trainer.net.state_dict()), strict=False)
            Trainer(new).fit()""",
                ['`k.startswith(prefix)`, with `"backbone."` from line 28'],
            ),
            (
                "prefix_that_no_key_has_in_a_loop",
                """class Loader:
                def __init__(self, part="backbone."):  # CULPRIT
                    self.part = part
                def read(self, state):
                    found = {}
                    for key, value in state.items():
                        if not key.startswith(self.part):
                            continue
                        found[key.removeprefix(self.part)] = value
                    return found
            new, loader = Tagger(), Loader()
            part = loader.read(trainer.net.state_dict())
            new.encoder.load_state_dict(part, strict=False)
            Trainer(new).fit()""",
                ["`key.startswith(self.part)`"],
            ),
        )
    ),
    case(
        "prefix_that_the_keys_have",
        f"""{START}
            new, prefix, found = Tagger(), "encoder.", {{}}
            for key, value in trainer.net.state_dict().items():
                if key.startswith(prefix):
                    found[key.removeprefix(prefix)] = value
            new.encoder.load_state_dict(found, strict=False)
            Trainer(new).fit()
            """,
    ),
]
