// Paints what the timeline says: lit boxes and edges, the one that runs, memory written.
import { intersects, type Rect } from "../geometry/rect.js";
import { LIT, RUNNING } from "../scene/playback.js";
import { DETAIL, type Frame } from "./frame.js";
import type { Pen } from "./pen.js";

const RADIUS = 8;
const GLOW = { width: 7, alpha: 0.3 };
const LINE = 2.2;
const RUN = { gap: 5, width: 3.2 };
const TOUCH = { gap: 5, width: 2.4, dash: [3, 3] };
const FAR = 4; // CSS pixels that a lit box keeps in the far view

/** Light under the boxes: it must not lie over their words. */
export function paintGlow(context: Pen, frame: Frame): void {
  const { playback, theme, view } = frame;
  if (playback === null) return;
  const isFar = view.scale < DETAIL.shapes;
  context.fillStyle = theme.lit;
  context.globalAlpha = isFar ? 1 : GLOW.alpha;
  context.beginPath();
  eachBox(frame, (item, box) => {
    const stage = playback.stage[item] ?? 0;
    if (stage !== LIT && stage !== RUNNING) return;
    const margin = isFar ? FAR / view.scale / 2 : GLOW.width;
    traceAround(context, box, margin);
  });
  context.fill();
  context.globalAlpha = 1;
}

/** Lines around the boxes, over everything. */
export function paintPlayback(context: Pen, frame: Frame): void {
  const { playback, theme } = frame;
  if (playback === null) return;
  context.strokeStyle = theme.lit;
  context.lineWidth = LINE;
  context.beginPath();
  eachBox(frame, (item, box) => {
    if (playback.stage[item] === LIT) traceAround(context, box, 0);
  });
  context.stroke();
  context.strokeStyle = theme.edgeIn;
  context.lineWidth = Math.max(TOUCH.width, 1.5 / frame.view.scale);
  context.setLineDash(TOUCH.dash);
  context.beginPath();
  for (const item of playback.touched) {
    const box = frame.scene.boxes[item];
    if (box !== undefined) traceAround(context, box, TOUCH.gap);
  }
  context.stroke();
  context.setLineDash([]);
  const box = frame.scene.boxes[playback.current];
  if (box === undefined) return;
  context.strokeStyle = theme.litStrong;
  context.lineWidth = Math.max(RUN.width, 2 / frame.view.scale);
  context.beginPath();
  traceAround(context, box, RUN.gap);
  context.stroke();
}

/** Whether an edge carries a gradient that has arrived by now. */
export function isLitEdge({ playback, scene }: Frame, edge: number): boolean {
  if (playback === null || scene.edges[edge]?.kind === "cut") return false;
  const target = scene.visible.target[edge] ?? -1;
  const source = scene.visible.source[edge] ?? -1;
  return playback.stage[target] === LIT && (playback.stage[source] ?? 0) >= RUNNING;
}

function eachBox(frame: Frame, see: (item: number, box: Rect) => void): void {
  frame.scene.boxGrid.query(frame.world, (item) => {
    const box = frame.scene.boxes[item];
    if (box === undefined || box.shape === "frame") return;
    if (intersects(box, frame.world)) see(item, box);
  });
}

function traceAround(context: Pen, box: Rect, gap: number): void {
  const { x, y, width, height } = box;
  context.roundRect(x - gap, y - gap, width + 2 * gap, height + 2 * gap, RADIUS + gap);
}
