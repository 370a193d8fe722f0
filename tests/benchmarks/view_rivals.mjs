// dagre and Graphviz on the graph that our layout gets: their time and their crossings.
//
// Crossings are counted on the drawn curves, the same way for all: pairs of pieces of
// different edges that cross away from a shared end.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const extension = fileURLToPath(new URL("../../extension/", import.meta.url));
const require = createRequire(join(extension, "package.json"));

export const BOX = { width: 120, height: 40 };
const DOT_SECONDS = 20;
const POINTS_PER_INCH = 72;

/** Lay a flat graph out with dot; null when it is missing or not done in time. */
export function dotLayout(nodes, edges) {
  const lines = [
    'digraph { node [shape=box fixedsize=true label=""',
    `width=${BOX.width / POINTS_PER_INCH} height=${BOX.height / POINTS_PER_INCH}];`,
    ...nodes.map((node) => `${node};`),
    ...edges.map(([from, to]) => `${from} -> ${to};`),
    "}",
  ];
  const begin = performance.now();
  const { status, stdout } = spawnSync("dot", ["-Tplain"], {
    input: lines.join("\n"),
    timeout: DOT_SECONDS * 1000,
    maxBuffer: 1 << 28,
    encoding: "utf8",
  });
  const millis = performance.now() - begin;
  if (status !== 0) return null;
  const paths = stdout
    .split("\n")
    .filter((line) => line.startsWith("edge "))
    .map((line) => splinePath(line.split(" ")));
  return { millis, crossings: countCrossings(paths) };
}

/** "edge tail head n x1 y1 ... xn yn ...": cubic Béziers that share their ends. */
function splinePath(words) {
  const count = Number(words[3]);
  const at = (i) => [Number(words[4 + 2 * i]), Number(words[5 + 2 * i])];
  const points = [at(0)];
  for (let i = 0; i + 3 < count; i += 3) {
    points.push(...sampleCubic(at(i), at(i + 1), at(i + 2), at(i + 3)));
  }
  return { source: words[1], target: words[2], points };
}

const SAMPLES = 6;

export function sampleCubic(a, b, c, d) {
  return Array.from({ length: SAMPLES }, (_, i) => {
    const t = (i + 1) / SAMPLES;
    const s = 1 - t;
    const weights = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
    return [0, 1].map((axis) =>
      [a, b, c, d].reduce((sum, point, k) => sum + point[axis] * weights[k], 0),
    );
  });
}

/** Milliseconds and crossings of dagre; its routes are straight between their points. */
export function dagreLayout(nodes, edges) {
  const dagre = require("@dagrejs/dagre");
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ nodesep: 22, ranksep: 36 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(`${node}`, { ...BOX });
  edges.forEach(([from, to], name) => {
    graph.setEdge(`${from}`, `${to}`, {}, `${name}`);
  });
  const begin = performance.now();
  dagre.layout(graph);
  const millis = performance.now() - begin;
  const paths = graph.edges().map((edge) => ({
    source: edge.v,
    target: edge.w,
    points: graph.edge(edge).points.map(({ x, y }) => [x, y]),
  }));
  return { millis, crossings: countCrossings(paths) };
}

/** Pieces by rows of a grid: only those that share a row are compared. */
export function countCrossings(paths) {
  const rows = new Map();
  const height = 2 * BOX.height;
  paths.forEach(({ source, target, points }) => {
    for (let i = 0; i + 1 < points.length; i++) {
      const [a, b] = [points[i], points[i + 1]];
      const first = Math.floor(Math.min(a[1], b[1]) / height);
      const last = Math.floor(Math.max(a[1], b[1]) / height);
      for (let row = first; row <= last; row++) {
        if (!rows.has(row)) rows.set(row, []);
        rows.get(row).push({ a, b, source, target });
      }
    }
  });
  let count = 0;
  for (const [row, pieces] of rows) {
    pieces.sort((p, q) => left(p) - left(q));
    pieces.forEach((piece, i) => {
      for (let j = i + 1; j < pieces.length && left(pieces[j]) <= right(piece); j++) {
        const y = crossingHeight(piece, pieces[j]);
        if (y !== null && Math.floor(y / height) === row) count++;
      }
    });
  }
  return count;
}

const left = ({ a, b }) => Math.min(a[0], b[0]);
const right = ({ a, b }) => Math.max(a[0], b[0]);

/** Where two pieces cross in their middles, or null. */
function crossingHeight(p, q) {
  if (p.source === q.source || p.target === q.target) return null;
  const turn = (o, a, b) =>
    (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const [c, d] = [turn(p.a, p.b, q.a), turn(p.a, p.b, q.b)];
  const [e, f] = [turn(q.a, q.b, p.a), turn(q.a, q.b, p.b)];
  if (c * d >= 0 || e * f >= 0) return null;
  return p.a[1] + ((p.b[1] - p.a[1]) * e) / (e - f);
}
