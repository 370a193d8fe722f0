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

export interface LayoutClient {
  /** Lay out, and call back once; a newer job silences the older ones. The call back
   * comes before `run` returns when the graph is small. */
  run(job: LayoutJob, done: (placement: Placement) => void, failed: Failed): void;
  dispose(): void;
}

type Failed = (error: unknown) => void;

export function createLayoutClient(): LayoutClient {
  let worker: Worker | null = null;
  let url = "";
  let isBroken = false;
  let latest = 0;

  const here = (
    job: LayoutJob,
    done: (placement: Placement) => void,
    failed: Failed,
  ) => {
    let placement: Placement;
    try {
      placement = layout(job.graph, job.sizes, job.options);
    } catch (error) {
      failed(error);
      return;
    }
    done(placement);
  };
  const stop = () => {
    worker?.terminate();
    worker = null;
    if (url !== "") URL.revokeObjectURL(url);
    url = "";
  };
  const start = (): Worker | null => {
    if (typeof Worker === "undefined") return null;
    url = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
    try {
      return new Worker(url);
    } catch {
      return null; // some sandboxes forbid workers at once
    }
  };
  return {
    run(job, done, failed) {
      latest++;
      const id = latest;
      if (isBroken || job.graph.parent.length < SYNCHRONOUS_ITEMS) {
        here(job, done, failed);
        return;
      }
      worker ??= start();
      if (worker === null) {
        isBroken = true;
        here(job, done, failed);
        return;
      }
      worker.onmessage = ({ data }: MessageEvent<LayoutReply>) => {
        if (data.id !== latest) return;
        if ("placement" in data) done(data.placement);
        else failed(new Error(data.error));
      };
      // Where a policy forbids workers, the error comes after the start.
      worker.onerror = (event) => {
        event.preventDefault();
        stop();
        isBroken = true;
        if (id === latest) here(job, done, failed);
      };
      const request: LayoutRequest = { id, ...plain(job) };
      worker.postMessage(request);
    },
    dispose() {
      latest++;
      stop();
    },
  };
}

/** Only what the layout reads: the rest of a visible graph would be copied for nothing. */
function plain({ graph, sizes, options }: LayoutJob): LayoutJob {
  const { parent, open, source, target } = graph;
  return { graph: { parent, open, source, target }, sizes, options };
}
