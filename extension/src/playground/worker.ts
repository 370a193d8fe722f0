// Python beside the page: loads Pyodide, runs programs, and can be ended at any time.
import type { PyodideInterface } from "pyodide";
import type { Came, Reply, Request, Setup } from "./protocol.js";

/** The little of a worker's global scope that this file uses. */
interface WorkerScope {
  onmessage: ((event: { readonly data: Request }) => void) | null;
  postMessage(reply: Reply): void;
}

/** The module that runs programs, tools/in_browser.py. */
interface Driver {
  warm_up(): void;
  run(program: string): string;
}

const scope = globalThis as unknown as WorkerScope;
const AT_ONCE = 200; // writes that are passed on as they come, in one run
const TOGETHER_MS = 50; // of more than these, those within so long go in one message

const progress = (text: string) => scope.postMessage({ kind: "progress", text });

/** Passes on what Python writes; a loop that prints must not drown the page. */
class Voice {
  private decoder = new TextDecoder();
  private held = "";
  private writes = 0;
  private since = 0;

  readonly write = (bytes: Uint8Array): number => {
    this.held += this.decoder.decode(bytes, { stream: true });
    this.writes += 1;
    const now = performance.now();
    if (this.writes <= AT_ONCE || now - this.since > TOGETHER_MS) {
      this.since = now;
      this.flush();
    }
    return bytes.length;
  };

  flush(): void {
    if (this.held) scope.postMessage({ kind: "said", text: this.held });
    this.held = "";
  }

  begin(): void {
    this.writes = 0;
  }
}

const voice = new Voice();
let driver: Driver | undefined; // held: a proxy that is collected calls Python by itself

async function start(setup: Setup): Promise<void> {
  progress("Loading Python …");
  const url = `${setup.pyodide}pyodide.mjs`;
  const { loadPyodide } = (await import(url)) as typeof import("pyodide");
  const sources = fetched(setup.sources);
  const python = await loadPyodide({
    indexURL: setup.pyodide,
    packageBaseUrl: setup.wheels,
  });
  if (setup.packages.length > 0) {
    progress("Loading NumPy and SciPy …");
    await loadPackages(python, setup.packages);
  }
  progress("Loading gradviz …");
  const folder: string = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(await sources, "zip", { extractDir: folder });
  python.setStdout({ write: voice.write });
  python.setStderr({ write: voice.write });
  python.setStdin({ stdin: () => null });
  python.runPython("import sys; sys.stdout.reconfigure(line_buffering=True)");
  driver = python.pyimport("in_browser") as Driver;
  driver.warm_up();
  const version: string = python.runPython("sys.version.partition(' ')[0]");
  scope.postMessage({ kind: "ready", python: version });
}

async function fetched(url: string): Promise<ArrayBuffer> {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url} could not be fetched: ${reply.status}`);
  return reply.arrayBuffer();
}

/** Load packages; Pyodide itself only writes down that one could not be fetched. */
async function loadPackages(
  python: PyodideInterface,
  names: readonly string[],
): Promise<void> {
  const errors: string[] = [];
  await python.loadPackage([...names], {
    messageCallback: () => {},
    errorCallback: (text) => errors.push(text),
  });
  const missing = names.filter((name) => !(name in python.loadedPackages));
  if (missing.length > 0) throw new Error([...errors, `without ${missing}`].join("\n"));
}

function answer(program: string): void {
  if (driver === undefined) throw new Error("Python has not started");
  const began = performance.now();
  voice.begin();
  const came = JSON.parse(driver.run(program)) as Came;
  voice.flush();
  const seconds = (performance.now() - began) / 1000;
  scope.postMessage({ kind: "came", came, seconds });
}

scope.onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") await start(data.setup);
    else answer(data.program);
  } catch (error) {
    voice.flush();
    const text = error instanceof Error ? error.message : `${error}`;
    scope.postMessage({ kind: "failed", text });
  }
};
