// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import { convolution } from "../state/snapshots.test-util.js";
import { select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
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

  test("what had the focus has it again when the help is closed", async () => {
    const app = await show(convolution());
    app.find("graph").focus();
    await app.press("?");
    app.root.querySelector<HTMLElement>("dialog button")?.focus();
    await app.press(
      "Escape",
      app.root.querySelector<HTMLElement>("dialog button") ?? undefined,
    );
    expect(app.root.activeElement).toBe(app.find("graph"));
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
