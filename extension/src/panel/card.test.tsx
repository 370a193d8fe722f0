// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import type { Snapshot } from "../ir/types.js";
import { onlyFindings, withFindings } from "../state/findings.test-util.js";
import type { KernelLink } from "../state/kernel.js";
import { convolution } from "../state/snapshots.test-util.js";
import { type App, buttonNamed, during, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

const CELL = { height: "520px", cardFirst: true };

const height = (app: App) => (app.root.host as HTMLElement).style.height;

describe("the card below a failing cell", () => {
  test("says what happened, where, and what to write, as high as it needs", async () => {
    const app = await show(withFindings(), CELL);
    expect(height(app)).toBe("auto");
    const card = app.root.querySelector("article");
    expect(card?.querySelector("h3")?.textContent).toBe(
      "errorGV101inplace-saved-output",
    );
    expect(app.find("card-message").textContent).toBe(
      "y.add_(1) wrote over the result that relu saved.",
    );
    expect(app.find("source").querySelector("mark")?.textContent).toBe("y.add_(1)");
    expect(app.find("fix").textContent).toBe("Fix Write y = y + 1.");
    expect(app.find("fix-diff").querySelector("pre")?.textContent).toBe(
      "-y.add_(1)\n+y = y.add(1)\n",
    );
    expect(app.find("explain").textContent).toContain("gradviz explain GV101");
    expect(card?.textContent).toContain("with 2 more findings");
    expect(() => app.view).toThrow(); // no graph is drawn yet
  });

  test("opens the graph at the nodes, and comes back", async () => {
    const app = await show(withFindings(), CELL);
    await app.click(app.find("open-card"));
    expect(height(app)).toBe("520px");
    expect(app.view.state?.marks.size).toBe(2);
    expect(app.view.commands).toEqual(["reveal 2 1"]);
    await app.click(buttonNamed(app, "Back to the card"));
    expect([height(app), app.view.disposed]).toEqual(["auto", true]);
  });

  test("without a graph needs no way to one, and names the error", async () => {
    const app = await show(onlyFindings(), CELL);
    expect(app.find("raised").textContent).toBe("RuntimeError: no grad_fn");
    expect(app.root.querySelector("[data-testid=open-card]")).toBeNull();
    const cell = { ...onlyFindings(), events: [], title: "Cell In[2]" };
    expect((await show(cell, CELL)).root.querySelector(".raised")).toBeNull();
    const titled = { ...onlyFindings(), events: [], title: "ValueError: titled" };
    const other = await show(titled, CELL);
    expect(other.find("raised").textContent).toBe("ValueError: titled");
    const several = { ...titled, findings: [...titled.findings, ...titled.findings] };
    const many = await show(several, CELL);
    expect(many.find("open-card").textContent).toBe("Show all 2 findings");
    await many.click(many.find("open-card"));
    expect(many.find("finding-1")).not.toBeNull();
  });

  test("keeps its keys to the notebook", async () => {
    const app = await show(withFindings(), CELL);
    const card = app.root.querySelector("article");
    if (card !== null) await app.press("n", card);
    expect(app.find("card-message").textContent).toContain("wrote over");
  });

  test("is only for failures, goes when the next snapshot is none, comes with the next", async () => {
    const findings = withFindings().findings.slice(1);
    const warned = await show({ ...withFindings(), findings }, CELL);
    expect(warned.root.querySelector("article.card")).toBeNull();
    expect(warned.find("findings-button").textContent).toBe(
      "1 warning, 1 info, line 4",
    );
    expect(buttonNamed(warned, "Back to the card")).toBeNull();

    let send: (snapshot: Snapshot) => void = () => {};
    const live = await show(
      {
        initial: Promise.resolve(withFindings()),
        onSnapshot: (callback) => {
          send = callback;
          return () => {};
        },
      },
      CELL,
    );
    await during(() => send(convolution()));
    expect(height(live)).toBe("520px");
    expect(live.find("node-count").textContent).toBe("4 nodes");
    await during(() => send(withFindings()));
    expect(height(live)).toBe("auto"); // the failure that ends a live view
    await live.click(live.find("open-card"));
    await during(() => send({ ...withFindings(), title: "again" }));
    expect(height(live)).toBe("520px");
  });

  test("says why there is no graph", async () => {
    const notes = ["There is no graph to show: it is too large."];
    const app = await show({ ...onlyFindings(), notes }, CELL);
    expect(app.find("card-note").textContent).toBe(notes[0]);
  });

  test("releases memory once, and says how much that was", async () => {
    const sent: unknown[] = [];
    let tell: (said: string, alive?: boolean) => void = () => {};
    const kernel: KernelLink = {
      ask: (request) => void sent.push(request),
      follow(callback) {
        tell = (said, alive = true) =>
          callback({ answered: 0, release: { said, error: "" } }, alive);
        tell("");
        return () => {};
      },
    };
    const transport = { initial: Promise.resolve(withFindings()), kernel };
    const app = await show(transport, CELL);
    await app.click(app.find("release"));
    expect(sent).toEqual([{ service: "release", number: 1 }]);
    await during(() => tell("Released 2 MiB."));
    expect(app.find("released").textContent).toBe("Released 2 MiB.");
    expect(app.root.querySelector("[data-testid=release]")).toBeNull();
    await during(() => tell("", false));
    expect(app.root.querySelector(".ways")?.textContent).not.toContain("Release");
  });

  test("never stands on a page", async () => {
    const app = await show(withFindings());
    expect(app.root.querySelector("article.card")).toBeNull();
  });
});
