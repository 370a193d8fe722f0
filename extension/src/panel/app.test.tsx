// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import { SnapshotError } from "../ir/decode.js";
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";
import { convolution, nothing } from "../state/snapshots.test-util.js";
import { buttonNamed, during, select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

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

describe("toolbar and table", () => {
  test("collapse all, expand all, colours and theme reach the graph", async () => {
    const app = await show(convolution());
    await app.click(buttonNamed(app, "Collapse all scopes"));
    expect(app.view.state?.collapsed).toEqual(new Set([0, 1]));
    await app.click(buttonNamed(app, "Expand all scopes"));
    expect(app.view.state?.collapsed).toEqual(new Set());
    await app.type(app.find("color-by"), "gradient");
    expect(app.view.state?.colorBy).toBe("gradient");
    await app.click(buttonNamed(app, "Theme: auto"));
    await app.click(buttonNamed(app, "Theme: light"));
    expect(app.view.state?.theme).toBe("dark");
    expect(buttonNamed(app, "Theme: dark")).not.toBeNull();
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
        (row) => row.querySelector("th")?.textContent,
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
