// @vitest-environment jsdom
/** @jsxImportSource preact */
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import type { Came, Finding } from "./protocol.js";
import { Bar, type Doing, Findings, Graph, nothingSeen, Output } from "./view.js";

const FINDING: Finding = {
  code: "GV306",
  slug: "detach-in-forward",
  severity: "warning",
  message: "`x.detach()` in line 9 cuts <b>the graph</b>.",
  fix: "Remove `.detach()`.",
  culprit: { line: 9, end_line: 9, column: 5, end_column: 20 },
  edit: {
    replacements: [{ line: 9, column: 5, end_line: 9, end_column: 6, text: "" }],
  },
};
const CAME: Came = {
  status: 0,
  page: "<p>graph</p>",
  found: { verdict: "found 1 cause", findings: [FINDING] },
};

function shown() {
  const seen = nothingSeen();
  const doing = {
    run: vi.fn(),
    stop: vi.fn(),
    share: vi.fn(),
    goTo: vi.fn(),
    apply: vi.fn(),
  } satisfies Doing;
  const root = document.createElement("div");
  act(() =>
    render(
      <>
        <Bar seen={seen} doing={doing} first="Start (30 MB)" />
        <Output seen={seen} />
        <Findings seen={seen} doing={doing} pages="findings/" />
        <Graph seen={seen} />
      </>,
      root,
    ),
  );
  const button = (text: string) => {
    const all = [...root.querySelectorAll("button")];
    const found = all.find((each) => each.textContent?.trim() === text);
    if (found === undefined) throw new Error(`no button ${text}: ${root.innerHTML}`);
    return found;
  };
  return { seen, doing, root, button };
}

test("the first button says what it starts, the later one only runs", () => {
  const { seen, doing, button } = shown();
  button("Start (30 MB)").click();
  expect(doing.run).toHaveBeenCalledOnce();
  act(() => {
    seen.phase.value = "loading";
  });
  expect(button("Run").disabled).toBe(true);
  button("Stop").click();
  expect(doing.stop).toHaveBeenCalledOnce();
});

test("a finding leads to its line, its page and its change", () => {
  const { seen, doing, root, button } = shown();
  act(() => {
    seen.came.value = CAME;
  });
  expect(root.querySelector("h3 a")?.getAttribute("href")).toBe("findings/GV306.html");
  expect(root.querySelector(".found b")).toBeNull();
  expect(root.querySelector(".found code")?.textContent).toBe("x.detach()");
  button("line 9").click();
  expect(doing.goTo).toHaveBeenCalledWith(9);
  button("Change it so").click();
  expect(doing.apply).toHaveBeenCalledWith(FINDING);
  act(() => {
    seen.changed.value = true; // its lines are no longer those of the program
  });
  expect(button("Change it so").disabled).toBe(true);
});

test("the graph stands in a frame without access to the page", () => {
  const { seen, root } = shown();
  act(() => {
    seen.came.value = CAME;
  });
  const frame = root.querySelector("iframe");
  expect(frame?.getAttribute("sandbox")).toBe("allow-scripts allow-downloads");
  expect(frame?.getAttribute("srcdoc")).toBe("<p>graph</p>");
  act(() => {
    seen.came.value = { ...CAME, page: null };
  });
  expect(root.querySelector("iframe")).toBeNull();
  expect(root.textContent).toContain("There is no graph to show.");
});

test("output is text, whatever a program prints", () => {
  const { seen, root } = shown();
  act(() => {
    seen.said.value = "<img src=x>\n";
  });
  expect(root.querySelector("img")).toBeNull();
  expect(root.querySelector("[role=log]")?.textContent).toBe("<img src=x>\n");
});
