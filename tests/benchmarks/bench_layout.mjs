// Times the layout: milliseconds, crossings and size, on snapshots.
//
//   node tests/benchmarks/bench_layout.mjs [--rivals] [--json] GRAPH.json[.gz] ...
//
// A GRAPH is a gradviz snapshot, or {"nodes": [{"scope": "a.b"}], "edges": [[from, to]]}.
// Per graph: flat, forward and backward side by side as one graph ("joint"), all scopes
// open, and as it is first shown. --rivals puts dagre and dot beside the flat one.
// --json prints one row per line. The best of 7 runs after one to warm up: others may share
// the machine.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import {
  BOX,
  countCrossings,
  dagreLayout,
  dotLayout,
  sampleCubic,
} from "./view_rivals.mjs";

const extension = fileURLToPath(new URL("../../extension/", import.meta.url));
const require = createRequire(join(extension, "package.json"));
/** Beyond, the rivals are not done within a minute. */
const RIVAL_NODES = { flat: 1600, joint: 700 };
const CROSSED_NODES = 4000; // beyond, counting crossings takes longer than the layout

async function loadFrontEnd() {
  const { build } = require("esbuild");
  const result = await build({
    stdin: {
      contents: `
        export { layout } from "./layout/index.js";
        export { buildGraph } from "./graph/build.js";
        export { collapse } from "./graph/collapse.js";
        export { search } from "./graph/search.js";
        export { controls } from "./geometry/curve.js";
        export { parseSnapshot } from "./ir/parse.js";
        export { foldRepeats } from "./graph/fold.js";
        export { firstCollapsed } from "./state/collapse.js";`,
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

/** Every node twice: its forward call, and its backward function with the edges turned
 * round; what a node saves runs from the one to the other. */
function jointOf(snapshot) {
  const count = snapshot.nodes.length;
  const bare = { scope: null };
  const forward = snapshot.nodes.map((node) => ({ ...node, ...bare }));
  const turned = snapshot.edges.map((edge) => ({
    ...edge,
    source: count + edge.target,
    target: count + edge.source,
  }));
  const template = snapshot.edges[0];
  const saved = forward.flatMap(({ kind }, node) =>
    kind === "op" ? [{ ...template, source: node, target: count + node }] : [],
  );
  return {
    ...snapshot,
    nodes: [...forward, ...forward],
    edges: [...snapshot.edges, ...saved, ...turned],
    scopes: [],
  };
}

const RUNS = 7;

function time(run) {
  let result = run();
  let millis = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < RUNS; repeat++) {
    const begin = performance.now();
    result = run();
    millis = Math.min(millis, performance.now() - begin);
  }
  return { result, millis };
}

/** The curves of a placement, as the canvas draws them. */
function pathsOf(visible, { points, starts }, controls) {
  return Array.from(visible.source, (source, edge) => {
    const path = { source, target: visible.target[edge], points: [] };
    for (let i = starts[edge]; i < starts[edge + 1]; i += 2) {
      const to = [points[i], points[i + 1]];
      const from = path.points.at(-1);
      if (from === undefined || from[0] === to[0]) path.points.push(to);
      else {
        const { x1, y1, x2, y2 } = controls(...from, ...to);
        path.points.push(...sampleCubic(from, [x1, y1], [x2, y2], to));
      }
    }
    return path;
  });
}

function rivalsOf(view, visible) {
  const nodes = visible.parent.length;
  if (!(nodes <= RIVAL_NODES[view])) return {};
  const names = Array.from({ length: nodes }, (_, item) => item);
  const edges = Array.from(visible.source, (from, e) => [from, visible.target[e]]);
  return { dagre: dagreLayout(names, edges), dot: dotLayout(names, edges) };
}

function* report(name, snapshot, front, withRivals) {
  const flat = { ...snapshot, scopes: [] };
  flat.nodes = snapshot.nodes.map((node) => ({ ...node, scope: null }));
  const folded = front.foldRepeats(snapshot);
  const views = [
    ["flat", flat, new Set()],
    ["joint", jointOf(snapshot), new Set()],
    ["all open", folded, new Set()],
    ["first view", folded, front.firstCollapsed(folded)],
  ];
  for (const [view, shown, closed] of views) {
    const visible = front.collapse(front.buildGraph(shown), closed);
    const items = visible.parent.length;
    const sizes = {
      width: new Float32Array(items).fill(BOX.width),
      height: new Float32Array(items).fill(BOX.height),
    };
    const { result, millis } = time(() => front.layout(visible, sizes));
    const boxes = visible.open.reduce((sum, open) => sum + 1 - open, 0);
    const { width, height } = result.bounds;
    const crossings =
      items > CROSSED_NODES
        ? null
        : countCrossings(pathsOf(visible, result, front.controls));
    const rivals = withRivals ? rivalsOf(view, visible) : {};
    yield { name, view, boxes, millis, crossings, width, height, ...rivals };
  }
}

function sentence(row) {
  const rival = (name) => {
    const found = row[name];
    if (found === undefined) return "";
    if (found === null) return `, ${name} not done in time`;
    return `, ${name} ${found.millis.toFixed(0)} ms ${found.crossings} crossings`;
  };
  return (
    `${row.name.padEnd(24)} ${row.view.padEnd(10)} ${String(row.boxes).padStart(7)} ` +
    `boxes ${row.millis.toFixed(1).padStart(8)} ms, ${row.crossings ?? "?"} crossings, ` +
    `${row.width.toFixed(0)} x ${row.height.toFixed(0)}${rival("dagre")}${rival("dot")}`
  );
}

const options = process.argv.slice(2);
const paths = options.filter((option) => !option.startsWith("--"));
const front = await loadFrontEnd();
for (const path of paths) {
  const snapshot = front.parseSnapshot(await readGraph(path));
  const name = basename(path).replace(/\.json(\.gz)?$/, "");
  for (const row of report(name, snapshot, front, options.includes("--rivals"))) {
    console.log(options.includes("--json") ? JSON.stringify(row) : sentence(row));
  }
}
