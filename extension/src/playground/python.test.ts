import { expect, test } from "vitest";
import type { Came, Reply, Request, Setup } from "./protocol.js";
import { pythonIn, type Thread } from "./python.js";

const SETUP: Setup = {
  pyodide: "https://here/pyodide/",
  wheels: "https://there/",
  packages: ["numpy"],
  sources: "https://here/packages.zip",
  worker: "https://here/worker.js",
  megabytes: 30,
  servers: "this site",
  findings: "findings/",
};
const CAME: Came = { status: 0, page: null, found: null };

/** A worker that does what the test says, and notes what it is asked. */
class Told implements Thread {
  onmessage: Thread["onmessage"] = null;
  onerror: Thread["onerror"] = null;
  readonly asked: Request[] = [];
  ended = false;
  postMessage(request: Request): void {
    this.asked.push(request);
  }
  terminate(): void {
    this.ended = true;
  }
  says(reply: Reply): void {
    this.onmessage?.({ data: reply } as MessageEvent<Reply>);
  }
}

function playing() {
  const threads: Told[] = [];
  const heard: string[] = [];
  const make = () => {
    const made = new Told();
    threads.push(made);
    return made;
  };
  const python = pythonIn(make, SETUP, {
    phase: (phase) => heard.push(phase),
    progress: (text) => heard.push(text),
    said: (text) => heard.push(text),
    came: (came, seconds) => heard.push(`${came.status} in ${seconds}`),
    failed: (text) => heard.push(`failed: ${text}`),
  });
  const latest = () => threads[threads.length - 1] as Told;
  return { python, threads, heard, latest };
}

test("nothing is loaded before a program is run", () => {
  const { threads, heard } = playing();
  expect([threads, heard]).toEqual([[], []]);
});

test("a program waits for Python, and the next one need not", () => {
  const { python, threads, heard, latest } = playing();
  python.run("one");
  expect(latest().asked).toEqual([{ kind: "start", setup: SETUP }]);
  latest().says({ kind: "progress", text: "Loading" });
  latest().says({ kind: "ready", python: "3.14.2" });
  latest().says({ kind: "said", text: "hello" });
  latest().says({ kind: "came", came: CAME, seconds: 2 });
  python.run("two");
  expect(latest().asked.slice(1)).toEqual([
    { kind: "run", program: "one" },
    { kind: "run", program: "two" },
  ]);
  expect(threads).toHaveLength(1);
  expect(heard).toEqual([
    ...["loading", "Loading", "Python 3.14.2 is ready.", "running", "hello"],
    ...["ready", "0 in 2", "running"],
  ]);
});

test("a second program is not begun beside the first", () => {
  const { python, latest } = playing();
  python.run("one");
  python.run("two");
  latest().says({ kind: "ready", python: "3.14.2" });
  python.run("three");
  const programs = latest().asked.slice(1);
  expect(programs).toEqual([{ kind: "run", program: "one" }]);
});

test("stopping ends the worker at once, and the next run makes another", () => {
  const { python, threads, heard, latest } = playing();
  python.run("while True: pass");
  latest().says({ kind: "ready", python: "3.14.2" });
  python.stop();
  expect(latest().ended).toBe(true);
  expect(heard.at(-1)).toBe("asleep");
  python.run("two");
  latest().says({ kind: "ready", python: "3.14.2" });
  expect(threads).toHaveLength(2);
  expect(latest().asked.at(-1)).toEqual({ kind: "run", program: "two" });
});

test("what fails is told, and the worker goes", () => {
  const { python, threads, heard, latest } = playing();
  python.run("one");
  latest().says({ kind: "failed", text: "no network" });
  expect(latest().ended).toBe(true);
  expect(heard.slice(-2)).toEqual(["asleep", "failed: no network"]);
  python.run("one");
  latest().onerror?.({ message: "" } as ErrorEvent);
  expect(heard.at(-1)).toBe("failed: its worker could not be loaded");
  expect(threads).toHaveLength(2);
});

test("what a callback throws once it has spoken ends nothing", () => {
  const { python, heard, latest } = playing();
  python.run("one");
  latest().says({ kind: "ready", python: "3.14" });
  latest().onerror?.({ message: "Uncaught NoGilError" } as ErrorEvent);
  expect(latest().ended).toBe(false);
  expect(heard.at(-1)).toBe("running");
});
