// @vitest-environment jsdom
import { afterEach, describe, expect, test, vi } from "vitest";
import { SnapshotError } from "../ir/decode.js";
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";
import { convolution, nothing } from "../state/snapshots.test-util.js";
import type { RevealTarget } from "../state/transport.js";
import { type App, during, open } from "./app.test-util.js";
import { views } from "./fake-view.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

const opened: App[] = [];

async function show(...args: Parameters<typeof open>): Promise<App> {
  const app = await open(...args);
  opened.push(app);
  return app;
}

afterEach(() => {
  for (const app of opened.splice(0)) app.mounted.dispose();
  views.length = 0;
});

const select = (app: App, node: number) => during(() => app.view.events.onSelect(node));

const button = (app: App, name: string) =>
  app.root.querySelector(`button[aria-label="${name}"]`);

describe("mounting", () => {
  test("shows counts and producer, and hands the snapshot to the graph", async () => {
    const app = await show(convolution());
    expect(app.find("node-count").textContent).toBe("4 nodes");
    expect(app.find("edge-count").textContent).toBe("3 edges");
    expect(app.find("box-count").textContent).toBe("4 boxes shown");
    expect(app.find("status").textContent).toContain("test 1.0");
    expect(app.view.snapshot?.title).toBe("conv");
  });

  test("disposing removes the view, the graph view and the subscription", async () => {
    let subscribed = false;
    const app = await show({
      initial: Promise.resolve(convolution()),
      onSnapshot: () => {
        subscribed = true;
        return () => {
          subscribed = false;
        };
      },
    });
    expect(subscribed).toBe(true);
    const { host } = app.root;
    await during(() => app.mounted.dispose());
    expect([subscribed, app.view.disposed, host.isConnected]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("a later snapshot replaces the first, even when it comes before it", async () => {
    let send: (snapshot: Snapshot) => void = () => {};
    let arrive: (snapshot: Snapshot) => void = () => {};
    const initial = new Promise<Snapshot>((resolve) => {
      arrive = resolve;
    });
    const app = await show({
      initial,
      onSnapshot: (callback) => {
        send = callback;
        return () => {};
      },
    });
    await during(() => send(convolution()));
    await during(() => arrive(nothing()));
    expect(app.find("node-count").textContent).toBe("4 nodes");
  });

  test("a transport that fails is one sentence with role alert", async () => {
    const error = new SnapshotError("This file was written by a newer gradviz.");
    const app = await show({ initial: Promise.reject(error) });
    const alert = app.root.querySelector("[role=alert]");
    expect(alert?.textContent).toBe("This file was written by a newer gradviz.");
  });

  test("a graph without nodes says why", async () => {
    const app = await show(nothing());
    expect(app.find("empty").textContent).toContain("This graph has no nodes");
    expect(app.find("empty").textContent).toContain("does not require a gradient");
  });

  test("text from the program never becomes markup", async () => {
    const evil = "</script><img src=x onerror=alert(1)>";
    const nodes = [{ name: evil, kind: "op", call: evil, hooks: [evil] }];
    const app = await show(
      parseSnapshot({ format: "gradviz", schema: [1, 0], producer: evil, nodes }),
    );
    await select(app, 0);
    expect(app.root.querySelector("img")).toBeNull();
    expect(app.find("inspector").querySelector("h2")?.textContent).toBe(evil);
  });
});

describe("the inspector", () => {
  test("without a selection lists the leaves and what looks wrong", async () => {
    const app = await show(convolution());
    const leaf = app.find("leaves").querySelector("tbody tr");
    expect([...(leaf?.children ?? [])].map((cell) => cell.textContent?.trim())).toEqual(
      ["net.conv.weight", "(4, 1, 3, 3)", "0.25", "-0.5 to 0.75"],
    );
    expect(app.find("troubles").textContent).toBe(
      "ReluBackward02 NaN, 0 Inf in its output or gradient",
    );
    await app.click(leaf?.querySelector("button"));
    expect(app.view.state?.selected).toBe(0);
  });

  test("of a convolution reads shape, strides, version, gradient and source", async () => {
    const app = await show(convolution());
    await select(app, 1);
    expect(app.facts("summary")).toMatchObject({
      Shape: "(8, 4, 6, 6)",
      Strides: "(144, 36, 6, 1)",
      Version: "0",
      "Gradient norm": "1.5",
      Source: "train.py:4",
      "Backward time": "1.5 µs",
    });
    expect(app.find("call").textContent).toContain(
      "conv2d(image, net.conv.weight, stride=(1, 1), padding=(0, 0))",
    );
    expect(app.find("call").textContent).toContain("conv_transpose2d(grad, weight)");
    expect(app.find("source").querySelector("mark")?.textContent).toBe(
      "net.conv(image)",
    );
    expect(app.find("stack").textContent).toContain("train.py:6");
    expect(app.find("section-hooks").textContent).toContain("clip");
  });

  test("marks a saved tensor that was overwritten, in words", async () => {
    const app = await show(convolution());
    await select(app, 2);
    const row = app.find("saved").querySelector("tbody tr");
    expect(row?.textContent).toContain("_saved_result");
    expect(row?.querySelector(".bad")?.textContent).toBe("0 → 2 modified");
    expect(row?.textContent).toContain("freed");
    expect(app.find("storage-3").textContent).toMatch(/v0.*v1.*add_.*v2.*mul_/);
  });

  test("counts NaN with the first bad index, and says why there is no histogram", async () => {
    const app = await show(convolution());
    await select(app, 2);
    expect(app.facts("gradient-facts")).toMatchObject({
      NaN: "2",
      "First bad index": "(0, 3)",
      Zeros: "25 %",
      Min: "–",
    });
    expect(app.root.querySelector("[data-testid=histogram]")).toBeNull();
  });

  test("switches between the gradients of output and weight", async () => {
    const app = await show(convolution());
    await select(app, 1);
    expect(app.facts("gradient-facts").Norm).toBe("1.5");
    await app.type(app.find("gradient-pick"), "1");
    expect(app.facts("gradient-facts").Norm).toBe("0.25");
    const bars = app.find("histogram").querySelectorAll("rect");
    expect(bars).toHaveLength(32);
    expect(app.find("histogram").getAttribute("aria-label")).toContain("-0.5 to 0.75");
  });

  test("of an edge shows the tensor and the gradient that came back", async () => {
    const app = await show(convolution());
    await during(() => app.view.events.onSelectEdge(0));
    expect(app.facts("summary")).toMatchObject({
      Shape: "(4, 1, 3, 3)",
      "Gradient norm": "0.25",
    });
    expect(app.find("inspector").querySelector("h2")?.textContent).toBe(
      "net.conv.weight",
    );
  });

  test("keeps a section folded from node to node", async () => {
    const app = await show(convolution());
    await select(app, 1);
    const section = (): HTMLDetailsElement | null =>
      app.root.querySelector("details[data-testid=section-storage]");
    await during(() => section()?.removeAttribute("open"));
    await during(() => section()?.dispatchEvent(new Event("toggle")));
    await select(app, 2);
    expect(section()?.open).toBe(false);
  });

  test("says what it cannot show, and shows the rest", async () => {
    const broken = convolution();
    const tensors = broken.tensors.map((tensor) => ({ ...tensor, strides: null }));
    const snapshot = { ...broken, tensors } as unknown as Snapshot;
    const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
    const app = await show(snapshot);
    await select(app, 1);
    expect(app.root.querySelector("[role=alert]")?.textContent).toMatch(
      /^This part of the inspector could not be shown: /,
    );
    expect(app.find("status").textContent).toContain("4 nodes");
    quiet.mockRestore();
  });

  test("opens the line in the host's editor where there is one", async () => {
    const targets: RevealTarget[] = [];
    const reveal = (target: RevealTarget) => targets.push(target);
    const app = await show({ initial: Promise.resolve(convolution()), reveal });
    await select(app, 1);
    await app.click(app.find("source").querySelector("button"));
    expect(targets).toMatchObject([
      { file: "/home/me/train.py", line: 4, cell_id: null },
    ]);
  });

  test("says in the live region what is selected", async () => {
    const app = await show(convolution());
    await select(app, 1);
    expect(app.find("live").textContent).toContain(
      "Selected ConvolutionBackward0, conv2d",
    );
  });
});

describe("the stride picture", () => {
  const cell = (app: App, row: number, column: number) =>
    app.root.querySelector<HTMLElement>(`[data-row="${row}"][data-column="${column}"]`);

  test("spells the address of the focused cell and marks it in the strip", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    expect(app.facts("layout-facts").Shape).toBe("(4, 1, 3, 3)");
    await during(() => cell(app, 2, 1)?.focus());
    expect(app.find("arithmetic").textContent).toBe(
      "index (0, 0, 2, 1): 0·9 + 0·9 + 2·3 + 1·1 + 0 = 7, byte 28",
    );
    expect(app.find("strip").querySelector(".pointed")?.textContent).toBe("7");
  });

  test("arrow keys move the focus from cell to cell", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    const start = cell(app, 0, 0);
    await during(() => start?.focus());
    if (start !== null) await app.press("ArrowDown", start);
    expect(app.root.activeElement).toBe(cell(app, 1, 0));
    expect(app.view.state?.selected).toBe(1); // the graph did not walk as well
  });

  test("a leading index picks another slice", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    const lead = app.find("stride-picture").querySelector("input[type=number]");
    if (lead !== null) await app.type(lead, "3");
    expect(cell(app, 0, 0)?.textContent).toBe("27");
  });

  test("another view of the storage can be switched on", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "0");
    const bars = () => app.find("strip").querySelectorAll(".bars").length;
    expect(bars()).toBe(0);
    const box = app.find("stride-picture").querySelector("input[type=checkbox]");
    await app.click(box);
    expect(bars()).toBeGreaterThan(0);
  });
});

describe("keys and search", () => {
  test("arrows start at the root, walk, and reveal", async () => {
    const app = await show(convolution());
    await app.press("ArrowUp");
    expect(app.view.state?.selected).toBe(3);
    await select(app, 1);
    await app.press("ArrowDown");
    expect(app.view.state?.selected).toBe(2);
    await app.press("ArrowLeft"); // nothing on that side
    expect(app.view.state?.selected).toBe(2);
    expect(app.view.commands).toEqual(["reveal 3", "reveal 2"]);
  });

  test("f fits, plus and minus zoom, Enter closes the scope, Esc clears", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.press("f");
    await app.press("+");
    await app.press("-");
    expect(app.view.commands).toEqual(["fit", "zoom 1.25", "zoom 0.8"]);
    await app.press("Enter");
    expect(app.view.state?.collapsed).toEqual(new Set([1]));
    await app.press("Escape");
    expect(app.view.state?.selected).toBeNull();
  });

  test("slash focuses the search, whose letters are not shortcuts", async () => {
    const app = await show(convolution());
    await app.press("/");
    const input = app.find("search");
    expect(app.root.activeElement).toBe(input);
    await app.press("f", input);
    expect(app.view.commands).toEqual([]);
  });

  test("search counts matches and Enter walks them", async () => {
    const app = await show(convolution());
    const input = app.find("search");
    await app.type(input, "backward0");
    expect(app.find("search-count").textContent).toBe("3 found");
    expect(app.view.state?.matches).toEqual(new Set([1, 2, 3]));
    await app.press("Enter", input);
    await app.press("Enter", input);
    expect(app.find("search-count").textContent).toBe("2 of 3");
    expect(app.view.state?.selected).toBe(2);
    await app.type(input, "nothing like it");
    expect(app.find("search-count").textContent).toBe("No match");
  });

  test("question mark opens the help, which holds back the keys until Esc", async () => {
    const app = await show(convolution());
    await app.press("?");
    expect(app.root.querySelector("dialog")?.textContent).toContain("Keyboard");
    await app.press("f");
    expect(app.view.commands).toEqual([]);
    await app.press("Escape");
    expect(app.root.querySelector("dialog")).toBeNull();
  });

  test("keys pressed outside count only where the page is ours", async () => {
    const guest = await show(convolution());
    await guest.press("f", document.body);
    expect(guest.view.commands).toEqual([]);
    const owner = await show(convolution(), { ownsPage: true });
    await owner.press("f", document.body);
    expect(owner.view.commands).toEqual(["fit"]);
  });
});

describe("toolbar and table", () => {
  test("collapse all, expand all, colours and theme reach the graph", async () => {
    const app = await show(convolution());
    await app.click(button(app, "Collapse all scopes"));
    expect(app.view.state?.collapsed).toEqual(new Set([0, 1]));
    await app.click(button(app, "Expand all scopes"));
    expect(app.view.state?.collapsed).toEqual(new Set());
    await app.type(app.find("color-by"), "gradient");
    expect(app.view.state?.colorBy).toBe("gradient");
    await app.click(button(app, "Theme: auto"));
    await app.click(button(app, "Theme: light"));
    expect(app.view.state?.theme).toBe("dark");
    expect(button(app, "Theme: dark")).not.toBeNull();
  });

  test("the notebook's theme is followed while the choice is auto", async () => {
    const app = await show(convolution());
    await during(() => {
      document.body.dataset.jpThemeLight = "false";
    });
    expect(app.view.state?.theme).toBe("dark");
    await during(() => {
      delete document.body.dataset.jpThemeLight;
    });
    expect(app.view.state?.theme).toBe("light");
  });

  test("the table lists the nodes, sorts, selects and follows the search", async () => {
    const app = await show(convolution());
    await app.press("t");
    const names = () =>
      [...app.find("node-table").querySelectorAll("tbody tr")].map(
        (row) => row.querySelectorAll("td")[1]?.textContent,
      );
    expect(names()).toHaveLength(4);
    const header = [...app.find("node-table").querySelectorAll("th button")].find(
      (element) => element.textContent === "Gradient norm",
    );
    await app.click(header);
    expect(names()[0]).toBe("AccumulateGrad");
    await app.type(app.find("search"), "relu");
    expect(names()).toEqual(["ReluBackward0"]);
    await app.click(app.find("node-table").querySelector("tbody button"));
    expect(app.view.state?.selected).toBe(2);
    expect(app.find("breadcrumb").textContent).toContain("relu");
  });

  test("the status line names the node under the pointer", async () => {
    const app = await show(convolution());
    await during(() => app.view.events.onHover(2));
    expect(app.find("hovered").textContent).toBe("ReluBackward0 · relu · (8, 4, 6, 6)");
  });

  test("the breadcrumb closes a scope", async () => {
    const app = await show(convolution());
    await select(app, 1);
    const crumbs = app.find("breadcrumb").querySelectorAll("button");
    expect([...crumbs].map((crumb) => crumb.textContent)).toEqual(["net", "conv"]);
    await app.click(crumbs[0]);
    expect(app.view.state?.collapsed).toEqual(new Set([0]));
  });
});
