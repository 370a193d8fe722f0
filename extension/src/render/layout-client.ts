// Runs the layout in a worker where that pays, else here.
import workerSource from "gradviz:layout-worker";
import type { LayoutGraph, LayoutOptions, Placement, Sizes } from "../layout/index.js";
import { layout } from "../layout/index.js";
import type { LayoutReply, LayoutRequest } from "../layout/worker.js";

/** Below this many items the layout takes less than two frames: no worker, no wait. */
const SYNCHRONOUS_ITEMS = 1500;

export interface LayoutJob {
  readonly graph: LayoutGraph;
  readonly sizes: Sizes;
  readonly options: Partial<LayoutOptions>;
}

type Done = (placement: Placement) => void;
type Failed = (error: unknown) => void;

export class LayoutClient {
  private worker: Worker | null = null;
  private url = "";
  private isForbidden = false;
  private latest = 0;

  /** Lay out, and call back once; a newer job silences the older ones. The call back
   * comes before `run` returns when the graph is small. */
  run(job: LayoutJob, done: Done, failed: Failed): void {
    this.latest++;
    const id = this.latest;
    const isSmall = job.graph.parent.length < SYNCHRONOUS_ITEMS;
    const worker = isSmall ? null : this.start();
    if (worker === null) {
      runHere(job, done, failed);
      return;
    }
    worker.onmessage = ({ data }: MessageEvent<LayoutReply>) => {
      if (data.id !== this.latest) return;
      if ("placement" in data) done(data.placement);
      else failed(new Error(data.error));
    };
    // Where a policy forbids workers, the error comes after the start.
    worker.onerror = (event) => {
      event.preventDefault();
      this.stop();
      this.isForbidden = true;
      if (id === this.latest) runHere(job, done, failed);
    };
    const request: LayoutRequest = { id, ...plain(job) };
    worker.postMessage(request);
  }

  dispose(): void {
    this.latest++;
    this.stop();
  }

  private start(): Worker | null {
    if (this.worker !== null) return this.worker;
    if (this.isForbidden || typeof Worker === "undefined") return null;
    const script = new Blob([workerSource], { type: "text/javascript" });
    this.url = URL.createObjectURL(script);
    try {
      this.worker = new Worker(this.url);
    } catch {
      this.stop(); // some sandboxes forbid workers at once
      this.isForbidden = true;
    }
    return this.worker;
  }

  private stop(): void {
    this.worker?.terminate();
    this.worker = null;
    if (this.url !== "") URL.revokeObjectURL(this.url);
    this.url = "";
  }
}

function runHere(job: LayoutJob, done: Done, failed: Failed): void {
  let placement: Placement;
  try {
    placement = layout(job.graph, job.sizes, job.options);
  } catch (error) {
    failed(error);
    return;
  }
  done(placement);
}

/** Only what the layout reads: the rest of a visible graph would be copied for nothing. */
function plain({ graph, sizes, options }: LayoutJob): LayoutJob {
  const { parent, open, source, target } = graph;
  return { graph: { parent, open, source, target }, sizes, options };
}
