"""``gradviz mcp`` as a client of the official SDK sees it, over stdin and stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gradviz.mcp.bounds import MOST, fitted
from tests.forked import PATHS
from tests.gradviz.mcp.programs import (
    CUT,
    FINE,
    HANGS,
    LONG,
    RAISES,
    Conversation,
    served,
    written,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the one server that most tests talk to: they write their own."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def talk(folder: Path) -> Iterator[Callable[[Conversation], Any]]:
    """A function that runs a conversation with the server."""
    with served(folder) as talk:
        yield talk


def test_every_tool_says_when_to_use_it(talk: Callable[[Conversation], Any]):
    async def look(client: Any) -> Any:
        return (await client.list_tools()).tools, client.instructions

    tools, instructions = talk(look)
    names = {tool.name for tool in tools}
    assert names == {"run", "findings", "why", "node", "diff", "fix"}
    for tool in tools:
        assert len(tool.description) > 150
        assert f"`{tool.name}`" in instructions
        for argument in tool.input_schema["properties"].values():
            assert argument["description"]
        assert tool.annotations.read_only_hint == (tool.name not in ("run", "fix"))
    assert f"{MOST:,} characters" in instructions


def test_a_run_answers_with_verdict_findings_and_a_recording(
    folder: Path, talk: Callable[[Conversation], Any]
):
    written(folder, CUT + "print('stdout is the scripts')\n")

    async def converse(client: Any) -> Any:
        ran = await answer(client, "run", script="train.py")
        assert Path(ran["recording"]).exists()
        again = await answer(client, "findings", recording=ran["recording"])
        manual = await answer(
            client, "findings", recording=ran["recording"], code="GV306"
        )
        why = await answer(
            client, "why", recording=ran["recording"], name="encoder.weight"
        )
        names = await answer(client, "why", recording=ran["recording"])
        return ran, again, manual, why, names

    ran, again, manual, why, names = talk(converse)
    assert ran["verdict"].startswith("found 1 cause in 3 backward passes")
    assert (ran["status"], ran["stdout"]) == (0, "stdout is the scripts\n")
    (finding,) = ran["findings"]
    assert (finding["code"], finding["line"]) == ("GV306", 10)
    assert finding["text"] == "features = torch.tanh(encoder(inputs)).detach()"
    assert "+    features = torch.tanh(encoder(inputs))\n" in finding["edit"]["diff"]
    assert again["findings"] == ran["findings"]
    assert "When it stays quiet" in manual["manual"]
    assert why["verdict"] == "encoder.weight has no gradient."
    (decision,) = [step for step in why["steps"] if step.get("decision")]
    assert decision["line"] == "train.py:10"
    asked = {each["name"]: each["verdict"] for each in names["answers"]}
    assert asked["encoder.bias"] == "encoder.bias has no gradient."
    assert asked["head.weight"].startswith("head.weight has a gradient")


async def answer(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; return what it answers, which has to be no error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert len(result.content[0].text) <= MOST
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refusal(client: Any, tool: str, **arguments: Any) -> str:
    """Call a tool; return the sentence with which it refuses."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return result.content[0].text.removeprefix(f"Error executing tool {tool}: ")


def test_a_node_is_told_with_its_neighbours(
    folder: Path, talk: Callable[[Conversation], Any]
):
    written(folder, FINE)

    async def converse(client: Any) -> Any:
        ran = await answer(client, "run", script="train.py")
        node = partial(answer, client, "node", recording=ran["recording"])
        refused = await refusal(
            client, "node", recording=ran["recording"], node="softmax"
        )
        (tanh, *_) = (await node(node="tanh"))["nodes"]
        weight = (await node(node="encoder.weight"))["nodes"][0]
        by_row = (await node(node=str(tanh["row"])))["nodes"]
        by_line = (await node(node="train.py:10"))["nodes"]
        return tanh, weight, by_row, by_line, refused

    tanh, weight, by_row, by_line, refused = talk(converse)
    assert tanh["text"] == "features = torch.tanh(encoder(inputs))"
    assert tanh["outputs"][0]["shape"] == [16, 4]
    assert float(tanh["gradients"][0]["norm"]) > 0
    assert tanh["from"][0].endswith(" addmm")
    assert "result" in tanh["derivative"]
    assert weight["kind"] == "accumulate"
    assert by_row == [tanh]
    assert {each["op"] for each in by_line} >= {"tanh", "addmm"}
    assert refused.startswith("no node is 'softmax'")
    assert "tanh" in refused


def test_two_recordings_are_compared(folder: Path, talk: Callable[[Conversation], Any]):
    written(folder, FINE)
    written(folder, FINE.replace("tanh", "sigmoid"), "later.py")

    async def converse(client: Any) -> Any:
        one, two = [
            (await answer(client, "run", script=name))["recording"]
            for name in ("train.py", "later.py")
        ]
        return (
            await answer(client, "diff", before=one, after=two),
            await answer(client, "diff", before=one),
            await answer(client, "diff", before=one, after=one, passes=[-1, -1]),
            await refusal(client, "diff", before=one, passes=[7, 8]),
        )

    changed, steps, same, refused = talk(converse)
    signs = {(row["sign"], row["op"]) for row in changed["rows"]}
    assert {("-", "tanh"), ("+", "sigmoid")} <= signs
    assert "pass" in steps["summary"]
    assert (same["differ"], same["rows"]) == (False, [])
    assert "There is no pass 7" in refused


def test_edits_are_proposed_and_tried_and_no_file_changes(
    folder: Path, talk: Callable[[Conversation], Any]
):
    script = written(folder, CUT)

    async def converse(client: Any) -> Any:
        return (
            await answer(client, "fix", script="train.py"),
            await answer(client, "fix", script="train.py", try_edits=True),
        )

    proposed, tried = talk(converse)
    (change,) = proposed["changes"]
    assert change["diff"].startswith("--- a/train.py\n+++ b/train.py\n@@")
    assert "helped" not in change
    assert tried["changes"][0]["helped"] is True
    assert tried["changes"][0]["tried"][0] == "tried: GV306 is gone."
    assert script.read_text() == CUT


def test_arguments_folders_and_modules_are_passed_on(
    folder: Path, talk: Callable[[Conversation], Any]
):
    (folder / "pkg").mkdir()
    written(folder / "pkg", "import sys\nprint(sys.argv[1:])\n", "step.py")

    async def converse(client: Any) -> Any:
        given = ["--html", "--", "a b"]
        module = await answer(
            client, "run", script="pkg.step", module=True, arguments=given
        )
        script = await answer(
            client, "run", script="step.py", folder=str(folder / "pkg")
        )
        return module, script

    module, script = talk(converse)
    assert module["stdout"] == "['--html', '--', 'a b']\n"
    assert script["stdout"] == "[]\n"
    assert script["findings"] == []


def test_a_script_that_raises_is_told_with_its_cause(
    folder: Path, talk: Callable[[Conversation], Any]
):
    written(folder, RAISES)

    async def converse(client: Any) -> Any:
        ran = await answer(client, "run", script="train.py")
        why = await answer(client, "why", recording=ran["recording"], name="error")
        return ran, why

    ran, why = talk(converse)
    assert ran["status"] == 1
    assert ran["raised"].startswith("RuntimeError: one of the variables needed")
    assert ran["findings"][0]["code"] == "GV101"
    assert "Traceback" in ran["stderr"]
    assert why["steps"]


def test_a_script_that_hangs_is_ended_and_told_until_then(
    folder: Path, talk: Callable[[Conversation], Any]
):
    written(folder, HANGS)

    async def converse(client: Any) -> Any:
        return await answer(client, "run", script="train.py", timeout_s=8)

    ran = talk(converse)
    assert "had not ended after 8 seconds" in ran["timed_out"]
    assert ran["findings"][0]["code"] == "GV306"
    assert_is_gone(int((folder / "pid").read_text()))


def assert_is_gone(process: int) -> None:
    for _ in range(200):
        try:
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
        except (ProcessLookupError, FileNotFoundError):
            return
        if state.split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {process} still runs")


def test_questions_that_cannot_be_answered_get_one_sentence(
    folder: Path, talk: Callable[[Conversation], Any]
):
    written(folder, FINE)
    (folder / "no.json").write_text("{")

    async def converse(client: Any) -> Any:
        ran = await answer(client, "run", script="train.py")
        recording = ran["recording"]
        return [
            await refusal(client, "run", script="gone.py"),
            await refusal(client, "run", script="train.py", folder="gone"),
            await refusal(client, "findings", recording="no.json"),
            await refusal(client, "findings", recording=recording, code="GV999"),
            await refusal(client, "why", recording=recording, name="encodr.weight"),
            await refusal(client, "diff", before=recording, passes=[1]),
            await refusal(client, "run", script="train.py", timeout_s=0),
        ]

    script, folder, file, rule, name, passes, limit = talk(converse)
    assert script.startswith("there is no script gone.py in ")
    assert folder == "there is no folder gone."
    assert file.startswith("no.json: This is not a gradviz snapshot")
    assert rule.startswith("there is no rule 'GV999'")
    assert "near it are: `encoder.weight`" in name
    assert passes == "passes are two numbers, one of each graph."
    assert "timeout_s" in limit


def test_what_is_left_out_can_be_asked_for(
    folder: Path, talk: Callable[[Conversation], Any]
):
    written(folder, LONG)

    async def converse(client: Any) -> Any:
        ran = await answer(client, "run", script="train.py")
        seen: list[str] = []
        for _ in range(100):
            told = await answer(
                client,
                "node",
                recording=ran["recording"],
                node="mul",
                first=len(seen),
            )
            seen += [each["row"] for each in told["nodes"]]
            if "ask again" not in told.get("left_out", ""):
                return seen, told
        return seen, {}

    seen, last = talk(converse)
    assert len(seen) == len(set(seen)) == 100
    assert "of 100 nodes are left out." in last["left_out"]


def test_one_row_that_is_too_long_alone_is_still_told():
    answered = fitted(["x" * 2 * MOST, "y"], name="rows")
    assert len(answered["rows"]) == 1
    assert answered["left_out"].startswith("1 of 2 rows")


# ---- the process ---------------------------------------------------------------------


def test_stdout_is_the_protocols_alone(tmp_path: Path):
    written(tmp_path, FINE + "import os\nos.system('echo loud')\n")
    calls = [
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "run", "arguments": {"script": "train.py"}},
        },
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in calls]
    with started(tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        assert server.stdout.read() == ""
        assert server.wait(30) == 0
    assert [each["id"] for each in answers] == [1, 2]
    assert "loud" in answers[1]["result"]["structuredContent"]["stdout"]


INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "1"},
}


def temporary(folder: Path) -> Path:
    """Where the server keeps its files."""
    (folder / "temporary").mkdir(exist_ok=True)
    return folder / "temporary"


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gradviz", "mcp"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PATHS, "TMPDIR": str(temporary(folder))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.skipif(os.name != "posix", reason="process groups")
@pytest.mark.parametrize("by", ["end of stdin", "SIGTERM"])
def test_a_script_ends_with_the_server(tmp_path: Path, by: str):
    written(tmp_path, HANGS)
    call = {"name": "run", "arguments": {"script": "train.py"}}
    calls = [
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    with started(tmp_path) as server:
        assert server.stdin is not None
        for each in calls:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
        server.stdin.flush()
        for _ in range(1_200):
            if (tmp_path / "pid").exists():
                break
            time.sleep(0.05)
        process = int((tmp_path / "pid").read_text())
        if by == "SIGTERM":
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == -signal.SIGTERM
        else:
            server.stdin.close()
            server.wait(30)
    assert_is_gone(process)
    assert list(temporary(tmp_path).iterdir()) == []


def test_without_the_package_one_sentence_says_what_to_install(tmp_path: Path):
    code = (
        "import sys\nsys.modules['mcp'] = None\n"
        "from gradviz.cli import main\nsys.exit(main(['mcp']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "gradviz mcp: mcp is not installed here; "
        "`pip install 'autogradviz[mcp]'` brings it.\n"
    )
    assert done.stdout == ""


def test_help_does_not_load_the_protocol():
    code = (
        "import sys\nfrom gradviz.cli import main\n"
        "try:\n    main(['mcp', '--help'])\nexcept SystemExit:\n    pass\n"
        "assert not {'mcp', 'anyio', 'pydantic'} & set(sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": PATHS}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
