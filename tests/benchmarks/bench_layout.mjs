// Times the layout: milliseconds, crossings and size, on stored and synthetic graphs.
//
//   node tests/benchmarks/bench_layout.mjs [--dagre] [GRAPH.json | GRAPH.json.gz ...]
//
// A GRAPH is a gradviz snapshot, or {"nodes": [{"scope": "a.b"}], "edges": [[from, to]]}.
// Without paths: synthetic graphs of 1,000 to 100,000 nodes. --dagre puts dagre beside it
// (flat, graphs of up to 1,500 nodes). Medians of 5 runs after one to warm up.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const extension = fileURLToPath(new URL("../../extension/", import.meta.url));
const require = createRequire(join(extension, "package.json"));

async function loadFrontEnd() {
  const { build } = require("esbuild");
  const result = await build({
    stdin: {
      contents: `
        export { layout } from "./layout/index.js";
        export { buildGraph } from "./graph/build.js";
        export { collapse } from "./graph/collapse.js";
        export { parseSnapshot } from "./ir/parse.js";`,
      resolveDir: join(extension, "src"),
    },
    bundle: true,
    write: false,
    format: "esm",
  });
  const code = Buffer.from(result.outputFiles[0].text).toString("base64");
  return import(`data:text/javascript;base64,${code}`);
}

/** A snapshot of plain nodes with scopes by path, from a list of nodes and edges. */
function snapshotOf(nodes, edges) {
  const ids = new Map();
  const scopes = [];
  const scopeId = (path) => {
    if (!path) return null;
    if (!ids.has(path)) {
      const dot = path.lastIndexOf(".");
      const parent = dot < 0 ? null : scopeId(path.slice(0, dot));
      ids.set(path, scopes.length);
      scopes.push({ path, name: path.slice(dot + 1), kind: "Module", parent });
    }
    return ids.get(path);
  };
  return {
    format: "gradviz",
    schema: [1, 0],
    producer: "bench",
    nodes: nodes.map((node) => ({
      name: node.op ?? "Op",
      kind: "op",
      scope: scopeId(node.scope),
    })),
    edges: edges.map(([source, target]) => ({ source, target, output: 0, input: 0 })),
    scopes,
  };
}

async function readGraph(path) {
  const bytes = await readFile(path);
  const json = JSON.parse(path.endsWith(".gz") ? gunzipSync(bytes) : bytes);
  return json.format === "gradviz" ? json : snapshotOf(json.nodes, json.edges);
}

/** Like an unrolled transformer: blocks of 12 ops with a residual, 4 blocks a stage. */
function synthetic(count) {
  const nodes = [];
  const edges = [];
  const add = (scope) => nodes.push({ op: "Op", scope }) - 1;
  let stream = add("");
  for (let block = 0; nodes.length < count; block++) {
    const scope = `stage${Math.floor(block / 4)}.block${block % 4}`;
    let last = stream;
    for (let step = 0; step < 4; step++) {
      const weight = add(scope);
      const bias = add(scope);
      const op = add(scope);
      edges.push([last, op], [weight, op], [bias, op]);
      last = op;
    }
    const sum = add(scope);
    edges.push([stream, sum], [last, sum]);
    stream = sum;
  }
  return snapshotOf(nodes, edges);
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

function time(run) {
  let result = run();
  const millis = [];
  for (let repeat = 0; repeat < 5; repeat++) {
    const begin = performance.now();
    result = run();
    millis.push(performance.now() - begin);
  }
  return { result, millis: median(millis) };
}

function dagreMillis(visible) {
  const dagre = require("@dagrejs/dagre");
  const { millis } = time(() => {
    const graph = new dagre.graphlib.Graph({ multigraph: true });
    graph.setGraph({ nodesep: 22, ranksep: 36 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (let i = 0; i < visible.parent.length; i++) {
      if (visible.open[i] === 0) graph.setNode(`${i}`, { width: 120, height: 40 });
    }
    visible.source.forEach((from, e) => {
      graph.setEdge(`${from}`, `${visible.target[e]}`, {}, `${e}`);
    });
    dagre.layout(graph);
  });
  return millis;
}

function report(name, snapshot, front, withDagre) {
  const graph = front.buildGraph(snapshot);
  const top = new Set();
  snapshot.scopes.forEach((scope, id) => scope.parent === null && top.add(id));
  const flat = front.buildGraph({
    ...snapshot,
    nodes: snapshot.nodes.map((node) => ({ ...node, scope: null })),
    scopes: [],
  });
  const views = [
    ["flat", flat, new Set()],
    ["all open", graph, new Set()],
    ["collapsed", graph, top],
  ];
  for (const [view, shown, closed] of views) {
    if (view !== "flat" && snapshot.scopes.length === 0) continue;
    const visible = front.collapse(shown, closed);
    const items = visible.parent.length;
    const sizes = {
      width: new Float32Array(items).fill(120),
      height: new Float32Array(items).fill(40),
    };
    const { result, millis } = time(() => front.layout(visible, sizes));
    const { stats, bounds } = result;
    const beside =
      withDagre && view === "flat" && items <= 1500
        ? `, dagre ${dagreMillis(visible).toFixed(0)} ms`
        : "";
    console.log(
      `${name.padEnd(24)} ${view.padEnd(10)} ${String(items).padStart(7)} boxes ` +
        `${millis.toFixed(1).padStart(8)} ms, ${stats.crossings} crossings, ` +
        `${bounds.width.toFixed(0)} x ${bounds.height.toFixed(0)}${beside}`,
    );
  }
}

const options = process.argv.slice(2);
const withDagre = options.includes("--dagre");
const paths = options.filter((option) => !option.startsWith("--"));
const front = await loadFrontEnd();
const graphs = paths.length
  ? await Promise.all(paths.map(async (p) => [basename(p), await readGraph(p)]))
  : [1000, 10_000, 100_000].map((n) => [`synthetic ${n}`, synthetic(n)]);
for (const [name, json] of graphs) {
  report(name, front.parseSnapshot(json), front, withDagre);
}
