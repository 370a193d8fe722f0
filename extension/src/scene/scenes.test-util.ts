// Scenes of small graphs, laid out, with texts as wide as their letters are many.
import { buildGraph, type Graph } from "../graph/build.js";
import { collapse } from "../graph/collapse.js";
import { twoLayers } from "../graph/snapshots.test-util.js";
import { layout } from "../layout/index.js";
import { describeBoxes, measureBoxes } from "./boxes.js";
import { boxOfNode, buildScene, type Scene } from "./scene.js";

export const measure = (text: string, size: number) => text.length * size * 0.6;

export function sceneOf(graph: Graph, closed: readonly number[] = []): Scene {
  const visible = collapse(graph, new Set(closed));
  const contents = describeBoxes(graph, visible);
  return buildScene(
    graph,
    visible,
    contents,
    layout(visible, measureBoxes(contents, measure)),
  );
}

export const graph = buildGraph(twoLayers());
/** Two layers with every scope open, and with the first one closed. */
export const open = sceneOf(graph);
export const closed = sceneOf(graph, [1]);
export const middle = (box: {
  x: number;
  y: number;
  width: number;
  height: number;
}) => ({
  x: box.x + box.width / 2,
  y: box.y + box.height / 2,
});

export function boxOf(scene: Scene, node: number) {
  const box = boxOfNode(scene, node);
  if (box === null) throw new Error(`no box shows node ${node}`);
  return box;
}

export function boxOfScope(scene: Scene, scope: number) {
  const box = scene.boxes.find(
    ({ id, shape }) => id === scope && (shape === "frame" || shape === "stack"),
  );
  if (box === undefined) throw new Error(`no box shows scope ${scope}`);
  return box;
}
