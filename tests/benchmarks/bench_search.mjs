// Times the search of the view on 100,000 nodes with tensors, scopes and lines.
//
//   node tests/benchmarks/bench_search.mjs
//
// Per query: nodes found, median and slowest of 9 runs after one to warm up.
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const NODES = 100_000;
const LIMIT_MS = 50;
const QUERIES = [
  "relu",
  "block17.conv",
  "64x32",
  "model.py:12",
  "storage:3",
  "has:nan",
  "grad>10",
  "linear -block1 grad>0.5",
  "nothing-like-this",
];

const extension = fileURLToPath(new URL("../../extension/", import.meta.url));
const { build } = createRequire(join(extension, "package.json"))("esbuild");
const bundled = await build({
  stdin: {
    contents: `
      export { buildGraph } from "./graph/build.js";
      export { search } from "./graph/search.js";
      export { parseSnapshot } from "./ir/parse.js";`,
    resolveDir: join(extension, "src"),
  },
  bundle: true,
  write: false,
  format: "esm",
});
const code = Buffer.from(bundled.outputFiles[0].text).toString("base64");
const { buildGraph, parseSnapshot, search } = await import(
  `data:text/javascript;base64,${code}`
);

/** A chain of blocks; every node has a line, a tensor and a gradient. */
function snapshotOf(count) {
  const rows = (make) => Array.from({ length: count }, (_, id) => make(id));
  const calls = ["conv2d", "batch_norm", "relu", "linear", "add"];
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "bench",
    nodes: rows((id) => ({
      name: `${calls[id % 5]}Backward0`,
      kind: "op",
      call: calls[id % 5],
      inputs: id > 0 ? [id - 1] : [],
      outputs: [id],
      scope: id % 500,
      site: id % 300,
      grad_outputs: [id],
    })),
    edges: rows((id) => ({ source: id, target: id + 1, output: 0, input: 0 })).slice(
      1,
      -1,
    ),
    tensors: rows((id) => ({
      shape: [64, id % 64],
      strides: [id % 64, 1],
      offset: 0,
      dtype: "float32",
      device: "cpu",
      storage: id % 1000,
      name: `tensor${id}`,
    })),
    storages: Array.from({ length: 1000 }, () => ({
      nbytes: 64,
      device: "cpu",
      itemsize: 4,
    })),
    statistics: rows((id) => ({
      count: 64,
      norm: id % 20,
      nans: id % 999 === 0 ? 1 : 0,
    })),
    scopes: Array.from({ length: 500 }, (_, id) => ({
      path: `net.block${id}.conv`,
      name: "conv",
      kind: "Conv2d",
    })),
    sites: Array.from({ length: 300 }, (_, id) => ({
      file: "/srv/model.py",
      line: id + 1,
      end_line: id + 1,
      column: 1,
      end_column: 9,
      text: "x = f(x)",
      function: "forward",
    })),
  });
}

const graph = buildGraph(snapshotOf(NODES));
let slowest = 0;
for (const query of QUERIES) {
  const times = [];
  let found = [];
  for (let run = 0; run < 10; run++) {
    const begin = performance.now();
    found = search(graph, query);
    if (run > 0) times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  slowest = Math.max(slowest, times[4]);
  const figures = `${times[4].toFixed(1)} ms, slowest ${times.at(-1).toFixed(1)} ms`;
  console.log(
    `${query.padEnd(26)} ${String(found.length).padStart(6)} found  ${figures}`,
  );
}
console.log(`slowest median ${slowest.toFixed(1)} ms; the limit is ${LIMIT_MS} ms`);
process.exitCode = slowest > LIMIT_MS ? 1 : 0;
