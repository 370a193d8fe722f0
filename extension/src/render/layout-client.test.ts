// @vitest-environment jsdom
import { afterEach, expect, test, vi } from "vitest";
import { chain, uniformSizes } from "../layout/graphs.test-util.js";
import { layout, type Placement } from "../layout/index.js";
import type { LayoutReply, LayoutRequest } from "../layout/worker.js";
import { LayoutClient } from "./layout-client.js";

afterEach(() => vi.unstubAllGlobals());

const small = jobOf(3);
const large = jobOf(2000);

function jobOf(count: number) {
  const graph = chain(count);
  return { graph, sizes: uniformSizes(graph), options: {} };
}

/** A worker that answers when told to. */
class FakeWorker {
  static all: FakeWorker[] = [];
  onmessage: ((event: { data: LayoutReply }) => void) | null = null;
  onerror: ((event: { preventDefault(): void }) => void) | null = null;
  requests: LayoutRequest[] = [];
  isTerminated = false;

  constructor() {
    FakeWorker.all.push(this);
  }

  postMessage(request: LayoutRequest) {
    this.requests.push(request);
  }

  terminate() {
    this.isTerminated = true;
  }

  answer(index: number) {
    const { id, graph, sizes, options } = this.requests[index] as LayoutRequest;
    this.onmessage?.({ data: { id, placement: layout(graph, sizes, options) } });
  }
}

function stubWorker(): FakeWorker[] {
  FakeWorker.all = [];
  vi.stubGlobal("Worker", FakeWorker);
  vi.stubGlobal("URL", { createObjectURL: () => "blob:x", revokeObjectURL: () => {} });
  return FakeWorker.all;
}

function run(client: LayoutClient, job: typeof small) {
  const placements: Placement[] = [];
  const errors: unknown[] = [];
  client.run(
    job,
    (placement) => placements.push(placement),
    (error) => errors.push(error),
  );
  return { placements, errors };
}

test("a small graph is laid out at once, without a worker", () => {
  const workers = stubWorker();
  const { placements } = run(new LayoutClient(), small);
  expect(placements.map(({ bounds }) => bounds.height)).toEqual([192]);
  expect(workers).toEqual([]);
});

test("a large graph goes to the worker; only the newest answer counts", () => {
  const workers = stubWorker();
  const client = new LayoutClient();
  const first = run(client, large);
  const second = run(client, large);
  workers[0]?.answer(0);
  workers[0]?.answer(1);
  expect([first.placements.length, second.placements.length]).toEqual([0, 1]);
  client.dispose();
  expect(workers[0]?.isTerminated).toBe(true);
});

test("where a policy forbids the worker, the layout runs here", () => {
  const workers = stubWorker();
  const client = new LayoutClient();
  const { placements, errors } = run(client, large);
  workers[0]?.onerror?.({ preventDefault: () => {} });
  expect([placements.length, errors.length]).toEqual([1, 0]);
  run(client, large);
  expect(workers.length).toBe(1); // it is not tried again
});

test("without workers at all, the layout runs here", () => {
  vi.stubGlobal("Worker", undefined);
  expect(run(new LayoutClient(), large).placements.length).toBe(1);
});

test("an error of the layout is told", () => {
  const { errors } = run(new LayoutClient(), {
    ...small,
    sizes: { width: new Float32Array(1), height: new Float32Array(1) },
  });
  expect(String(errors[0])).toMatch(
    /The layout's input stage failed: width has 1 entries/,
  );
});
