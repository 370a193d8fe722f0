// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import { parseSnapshot } from "../ir/decode.js";
import { onlyFindings, withFindings } from "../state/findings.test-util.js";
import { convolution } from "../state/snapshots.test-util.js";
import type { RevealTarget } from "../state/transport.js";
import { type App, buttonNamed, select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

/** Gradients over steps without a graph, and what was found in them. */
const WATCHED = {
  format: "gradviz",
  schema: [1, 2],
  producer: "torch watched by gradviz",
  title: "my net",
  findings: [
    { code: "GV501", slug: "vanishing", severity: "warning", message: "`w` vanishes." },
  ],
  flow_layers: [{ name: "w" }],
  flow_steps: [{ number: 0 }],
  flow: [{ step: 0, layer: 0, norm: 1 }],
};

const tab = (app: App, name: string) => app.root.querySelector(`[data-tab=${name}]`);

const folded = (app: App, id: number) =>
  app.find(`finding-${id}`).querySelector("h3 button")?.getAttribute("aria-expanded");

describe("findings beside the graph", () => {
  test("say severity, code, slug, message, line, fix and related lines", async () => {
    const app = await show(withFindings());
    const finding = app.find("finding-0");
    expect(finding.querySelector("h3")?.textContent).toBe(
      "errorGV101inplace-saved-outputtrain.py:5",
    );
    expect(finding.querySelector(".message")?.textContent).toBe(
      "y.add_(1) wrote over the result that relu saved.",
    );
    expect(finding.querySelector(".message code")?.textContent).toBe("y.add_(1)");
    expect(app.find("source").querySelector("mark")?.textContent).toBe("y.add_(1)");
    expect(app.find("fix").textContent).toBe("Fix Write y = y + 1.");
    const related = [...app.find("related").querySelectorAll("li")];
    expect(related.map((line) => line.textContent)).toEqual([
      "1inplace saved outputtrain.py:5y.add_(1)",
      "2made heretrain.py:4y = net.conv(image)",
      "3shows heretrain.py:6loss = y.relu().sum()",
    ]);
    expect(app.find("finding-2").querySelector(".message")?.textContent).toBe(
      "A lone ` is a character.",
    );
  });

  test("tell their story by keys, on the graph and on its stops", async () => {
    const app = await show(withFindings());
    const current = () =>
      app.find("related").querySelector("[aria-current=step] button")?.textContent;
    const live = () => app.find("live").textContent;
    await app.press("w");
    expect(current()).toBe("1");
    await app.press("ArrowRight");
    expect(live()).toBe("Stop 2 of 3, train.py:4: made here");
    const button = app.find("related").querySelector("[aria-current] .stop");
    await app.press("ArrowDown", button as HTMLElement);
    expect(current()).toBe("3");
    await app.press("ArrowLeft");
    await app.press("W");
    expect(current()).toBe("1");
    await app.press("Escape");
    expect(current()).toBeUndefined();
    await app.click(app.find("related").querySelector("li:nth-child(2) .stop"));
    expect(app.find("related").querySelector(".source mark")?.textContent).toContain(
      "net.conv",
    );
  });

  test("show the fix as a change, and copy it where the page may", async () => {
    const writeText = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText } });
    const app = await show(withFindings());
    const change = app.find("fix-diff");
    expect(
      [...change.querySelectorAll(".removed, .added")].map((line) => line.textContent),
    ).toEqual(["-y.add_(1)\n", "+y = y.add(1)\n"]);
    change.querySelector("button")?.click();
    expect(writeText).toHaveBeenCalledWith(expect.stringContaining("+y = y.add(1)\n"));
    expect(app.root.querySelectorAll("[data-testid=fix-diff]")).toHaveLength(1);
    vi.unstubAllGlobals();
  });

  test("show the write log and the strip of a storage", async () => {
    const app = await show(withFindings());
    expect(app.find("storage-3").textContent).toMatch(/v0.*v1.*add_.*v2.*mul_/);
    expect(app.facts("layout-facts").Storage).toBe("#3");
  });

  test("a click unfolds one, marks its nodes and flies to them; another folds it", async () => {
    const app = await show(withFindings());
    expect(app.view.commands).toEqual([]);
    await app.click(app.find("finding-1").querySelector("h3 button"));
    expect([folded(app, 0), folded(app, 1)]).toEqual(["false", "true"]);
    expect(app.view.state?.marks).toEqual(new Map([[0, "warning"]]));
    expect(app.view.commands).toEqual(["reveal 0"]);
    await app.click(app.find("finding-1").querySelector("h3 button"));
    expect(folded(app, 1)).toBe("false");
    expect(app.view.state?.marks.size).toBe(0);
  });

  test("n and N walk them, from wherever the focus is", async () => {
    const app = await show(withFindings());
    await app.press("n");
    expect(folded(app, 1)).toBe("true");
    expect(app.find("live").textContent).toContain("Finding 2 of 3, warning GV201");
    await app.press("N", app.find("findings-pane"));
    expect(folded(app, 0)).toBe("true");
    await app.press("?");
    expect(app.root.querySelector("dialog")?.textContent).toContain("Next finding");
  });

  test("the button counts them, and switches to the inspector and back", async () => {
    const app = await show(withFindings());
    const button = app.find("findings-button");
    expect(button.textContent).toBe("1 error, 1 warning, 1 info, line 5");
    expect(button.getAttribute("aria-label")).toBe(
      "3 findings: 1 error, 1 warning, 1 info, line 5",
    );
    await app.click(button);
    expect(app.find("inspector").textContent).toContain("Leaves");
    await app.click(button);
    expect(app.find("finding-count").textContent).toBe("1 error, 1 warning, 1 info");
  });

  test("tabs follow the arrow keys, and a selected node shows its findings", async () => {
    const app = await show(withFindings());
    const findings = tab(app, "findings");
    if (findings !== null) await app.press("ArrowRight", findings);
    expect(app.root.activeElement).toBe(tab(app, "inspector"));
    expect(tab(app, "inspector")?.getAttribute("aria-selected")).toBe("true");
    await select(app, 1);
    expect(app.find("node-findings").textContent).toContain("GV101");
    await app.click(app.find("node-findings").querySelector("button"));
    expect(folded(app, 0)).toBe("true");
  });

  test("lines open in the host's editor where there is one", async () => {
    const targets: RevealTarget[] = [];
    const reveal = (target: RevealTarget) => targets.push(target);
    const app = await show({ initial: Promise.resolve(withFindings()), reveal });
    await app.click(app.find("source").querySelector("button"));
    await app.click(app.find("related").querySelector("li:nth-child(2) .place"));
    expect(targets.map(({ line }) => line)).toEqual([5, 4]);
  });

  test("a graph without findings has neither a tab for them nor a button", async () => {
    const app = await show(convolution());
    expect(app.root.querySelector("[data-tab=findings]")).toBeNull();
    expect(buttonNamed(app, "Findings")).toBeNull();
    expect(app.find("inspector").textContent).toContain("Leaves");
  });
});

describe("findings without a graph", () => {
  test("of a watched training say nothing of an error", async () => {
    const app = await show(parseSnapshot(WATCHED));
    expect(app.root.querySelector("[data-testid=raised]")).toBeNull();
    expect(app.find("finding-0").textContent).toContain("vanishes");
  });

  test("fill the view: no canvas, no search, what was raised, the notes", async () => {
    const app = await show(onlyFindings());
    expect(app.find("raised").textContent).toBe("RuntimeError: no grad_fn");
    expect(app.find("finding-0").textContent).toContain("loss requires no gradient.");
    expect(app.find("section-notes").textContent).toContain("Nothing was recorded.");
    for (const gone of ["graph", "search", "view-mode", "box-count"]) {
      expect(app.root.querySelector(`[data-testid=${gone}]`), gone).toBeNull();
    }
    expect(() => app.view).toThrow();
  });
});

test("nodes of one name are one link that says in how many places", async () => {
  const nodes = Array.from({ length: 200 }, () => ({
    name: "SplitBackward0",
    kind: "op",
  }));
  const rows = Array.from(nodes, (_, row) => row);
  const finding = { code: "GV501", slug: "s", severity: "warning", message: "m" };
  const app = await show(
    parseSnapshot({
      format: "gradviz",
      schema: [1, 3],
      producer: "test",
      nodes: [...nodes, { name: "SumBackward0", kind: "op" }],
      findings: [{ ...finding, nodes: [...rows, 200] }],
    }),
  );
  const links = [...app.root.querySelectorAll(".in-graph li")];
  expect(links.map((link) => link.textContent)).toEqual([
    "SplitBackward0 in 200 places",
    "SumBackward0",
  ]);
});

test("where gradients were watched the last line counts parameters, not nodes", async () => {
  const app = await show(parseSnapshot(WATCHED));
  expect(app.find("status").textContent).toContain("1 parameter over 1 step");
  expect(app.find("status").textContent).not.toContain("0 nodes");
});

test("what a node keeps is said as what letting go of it frees", async () => {
  const keeper = (tensor: number, node: number) => ({
    node,
    slot: "self",
    tensor,
    version_saved: 0,
    version_now: 0,
  });
  const tensor = {
    shape: [4],
    strides: [1],
    offset: 0,
    dtype: "float32",
    device: "cpu",
  };
  const storage = { nbytes: 16, device: "cpu", itemsize: 4 };
  const app = await show(
    parseSnapshot({
      format: "gradviz",
      schema: [1, 3],
      producer: "test",
      nodes: [
        { name: "MulBackward0", kind: "op" },
        { name: "ExpBackward0", kind: "op" },
      ],
      tensors: [
        { ...tensor, storage: 0 },
        { ...tensor, storage: 1 },
      ],
      storages: [
        { ...storage, tensors: [0] },
        { ...storage, tensors: [1] },
      ],
      saved: [keeper(0, 0), keeper(1, 0), keeper(1, 1)],
    }),
  );
  await select(app, 0);
  expect(app.find("memory-freed").textContent).toBe(
    "Letting go of this node frees 16 B; 16 B are kept by others, too.",
  );
  await select(app, 1);
  expect(app.find("memory-freed").textContent).toBe(
    "Letting go of this node alone frees nothing: what it saves is kept by others, too.",
  );
});
