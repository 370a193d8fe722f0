// The playground: a program on the left, its findings and its graph on the right.
import { render } from "preact";
import { editorIn } from "./editor.js";
import type { Came, Setup } from "./protocol.js";
import { pythonIn } from "./python.js";
import { hashOf, programIn } from "./share.js";
import { Bar, type Doing, Findings, Graph, nothingSeen, Output } from "./view.js";

const MOST_SAID = 200_000; // characters of output that are shown
const CUT = "\n… the rest is not shown.\n";
const UNREADABLE = "The address holds no program that can be read.";
const FROM_DISK =
  "A page opened from a file cannot load Python. Serve the site: " +
  "python -m http.server --directory build/site";

function part(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** Addresses of the setup, which a worker elsewhere can fetch. */
function absolute(setup: Setup): Setup {
  const from = (url: string) => new URL(url, document.baseURI).href;
  return {
    ...setup,
    pyodide: from(setup.pyodide),
    wheels: from(setup.wheels),
    sources: from(setup.sources),
    worker: from(setup.worker),
  };
}

function ending(came: Came, seconds: number): string {
  const count = came.found?.findings.length ?? 0;
  const found = count === 1 ? "1 finding" : `${count || "no"} findings`;
  const how = came.status === 0 ? "Ran" : `Ended with status ${came.status}`;
  return `${how} in ${seconds.toFixed(1)} s: ${found}.`;
}

/** Bring the page to life; the site's template has written its parts. */
export function mountPlayground(): void {
  const setup = absolute(JSON.parse(part("setup").textContent ?? ""));
  const seen = nothingSeen();
  const say = (text: string) => {
    const before = seen.said.value;
    if (before.length > MOST_SAID) return;
    const whole = before + text;
    seen.said.value =
      whole.length > MOST_SAID ? whole.slice(0, MOST_SAID) + CUT : whole;
  };
  const python = pythonIn(() => new Worker(setup.worker, { type: "module" }), setup, {
    phase: (phase) => {
      seen.phase.value = phase;
      if (phase === "running") seen.status.value = "Running …";
    },
    progress: (text) => {
      seen.status.value = text;
    },
    said: say,
    came: (came, seconds) => {
      seen.came.value = came;
      seen.status.value = ending(came, seconds);
      if (!seen.changed.value) editor.mark(came.found?.findings ?? []);
    },
    failed: (text) => {
      say(`${text}\n`);
      seen.status.value = "Python could not go on; Run starts it again.";
    },
  });
  const doing: Doing = {
    run: () => {
      if (seen.phase.value === "loading" || seen.phase.value === "running") return;
      if (location.protocol === "file:") {
        seen.status.value = FROM_DISK;
        return;
      }
      seen.said.value = "";
      seen.came.value = null;
      seen.changed.value = false;
      editor.mark([]);
      python.run(editor.text());
    },
    stop: () => {
      python.stop();
      say("\nStopped.\n");
      seen.status.value = "Stopped. Run starts Python again.";
    },
    share: async () => {
      history.replaceState(null, "", await hashOf(editor.text()));
      try {
        await navigator.clipboard.writeText(location.href);
        seen.status.value = "Copied: the address holds the program.";
      } catch {
        seen.status.value = "The address of this page now holds the program.";
      }
    },
    goTo: (line) => editor.goTo(line),
    apply: (finding) => editor.apply(finding.edit?.replacements ?? []),
  };
  const editor = editorIn(part("editor"), {
    text: JSON.parse(part("program").textContent ?? ""),
    run: doing.run,
    changed: () => {
      seen.changed.value = true;
    },
    describedBy: "keys",
  });
  const open = async () => {
    try {
      const program = await programIn(location.hash);
      if (program === null) return;
      editor.replace(program);
    } catch {
      seen.status.value = UNREADABLE;
    }
  };
  addEventListener("hashchange", open);
  open();
  const first = `Start Python and run (about ${setup.megabytes} MB from ${setup.servers})`;
  render(<Bar seen={seen} doing={doing} first={first} />, part("bar"));
  render(<Output seen={seen} />, part("output"));
  render(
    <Findings seen={seen} doing={doing} pages={setup.findings} />,
    part("findings"),
  );
  render(<Graph seen={seen} />, part("graph"));
}

mountPlayground();
