// Python as the page sees it: asleep, loading, ready or running, and stopped at will.
import type { Came, Reply, Request, Setup } from "./protocol.js";

export type Phase = "asleep" | "loading" | "ready" | "running";

/** What the page hears. */
export interface Heard {
  phase(phase: Phase): void;
  progress(text: string): void;
  said(text: string): void;
  came(came: Came, seconds: number): void;
  /** Python is gone, or never came; the next run starts another. */
  failed(text: string): void;
}

export interface Python {
  /** Run a program once Python is there. One at a time: others are left out. */
  run(program: string): void;
  /** End what runs or loads, at once. */
  stop(): void;
}

/** The part of a Worker that is used. */
export interface Thread {
  onmessage: ((event: MessageEvent<Reply>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(request: Request): void;
  terminate(): void;
}

/** Python in a worker, which is made when the first program runs. */
export function pythonIn(make: () => Thread, setup: Setup, heard: Heard): Python {
  let thread: Thread | undefined;
  let waiting: string | undefined;
  let phase: Phase = "asleep";
  let spoke = false; // the worker has, so it was loaded

  const enter = (next: Phase) => {
    phase = next;
    heard.phase(next);
  };
  const end = () => {
    thread?.terminate();
    thread = waiting = undefined;
    enter("asleep");
  };
  const fail = (text: string) => {
    end();
    heard.failed(text);
  };
  const begin = (program: string) => {
    enter("running");
    thread?.postMessage({ kind: "run", program });
  };
  const hear = (reply: Reply) => {
    spoke = true;
    if (reply.kind === "progress") heard.progress(reply.text);
    else if (reply.kind === "said") heard.said(reply.text);
    else if (reply.kind === "failed") fail(reply.text);
    else if (reply.kind === "ready") {
      const program = waiting;
      waiting = undefined;
      heard.progress(`Python ${reply.python} is ready.`);
      if (program === undefined) enter("ready");
      else begin(program);
    } else {
      enter("ready");
      heard.came(reply.came, reply.seconds);
    }
  };
  const start = () => {
    enter("loading");
    try {
      thread = make();
    } catch (error) {
      fail(`${error}`);
      return;
    }
    thread.onmessage = ({ data }) => hear(data);
    spoke = false;
    // It tells its own failures. What else is not caught comes of Pyodide's callbacks,
    // as of a finalizer that meets Python at work, and ends nothing.
    thread.onerror = ({ message }) => {
      if (!spoke) fail(message || "its worker could not be loaded");
    };
    thread.postMessage({ kind: "start", setup });
  };

  return {
    run(program) {
      if (phase === "ready") begin(program);
      if (phase !== "asleep") return;
      waiting = program;
      start();
    },
    stop() {
      if (phase !== "asleep") end();
    },
  };
}
