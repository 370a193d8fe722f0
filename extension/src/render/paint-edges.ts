// Paints edges: those of one look in one stroke, then arrow heads, then highlights.
import { controls } from "../geometry/curve.js";
import type { EdgeLook } from "../scene/edges.js";
import { AHEAD } from "../scene/playback.js";
import { DETAIL, type Frame, isFaded } from "./frame.js";
import { isLitEdge } from "./paint-playback.js";
import type { Pen } from "./pen.js";

const HAIRLINE = 0.7; // the thinnest line, in CSS pixels
const ARROW = { length: 7.5, width: 6.5 };
const HIGHLIGHT_WIDTH = 1.2; // added to the width
const DASH = { cut: [5, 4], still: [1.5, 3.5] };
/** A far view of more edges than this is painted without them. */
const FAR_LIMIT = 4000;

interface Stroke {
  readonly colour: string;
  readonly width: number;
  readonly dash: readonly number[];
  readonly edges: number[];
}

export function paintEdges(context: Pen, frame: Frame): void {
  const { scene, view } = frame;
  const isFar = view.scale < DETAIL.edges;
  if (isFar && scene.edges.length > FAR_LIMIT) return;
  const strokes = new Map<string, Stroke>();
  scene.edgeGrid.query(frame.world, (edge) => {
    if (!isVisible(frame, edge)) return;
    const look = scene.edges[edge];
    if (look === undefined) return;
    const colour = colourOf(frame, edge, look);
    const key = `${colour} ${look.width} ${look.kind}`;
    const stroke = strokes.get(key);
    if (stroke !== undefined) stroke.edges.push(edge);
    else
      strokes.set(key, {
        colour,
        width: look.width,
        dash: dashOf(look),
        edges: [edge],
      });
  });
  for (const stroke of strokes.values()) paintStroke(context, frame, stroke);
}

/** The selected edge, and those of the selected node: in and out in two colours. */
export function paintHighlights(context: Pen, frame: Frame): void {
  const { scene, theme, selected, hovered, selectedEdge } = frame;
  const paint = (edge: number, colour: string) => {
    const look = scene.edges[edge];
    if (look === undefined || !isVisible(frame, edge)) return;
    const width = look.width + HIGHLIGHT_WIDTH;
    paintStroke(context, frame, { colour, width, dash: dashOf(look), edges: [edge] });
  };
  const colour = (edge: number, look: string) =>
    scene.edges[edge]?.kind === "bad" ? theme.bad : look;
  const { half, boxes } = scene;
  const twins = [hovered, selected].flatMap((item) =>
    item >= 0 && item + half < boxes.length ? [item, item + half] : [item],
  );
  for (const item of new Set(twins)) {
    for (const edge of scene.edgesOfItem.get(item) ?? []) {
      const isIncoming = scene.visible.target[edge] === item;
      paint(edge, colour(edge, isIncoming ? theme.edgeIn : theme.edgeOut));
    }
  }
  if (selectedEdge >= 0) paint(selectedEdge, colour(selectedEdge, theme.accent));
}

function isVisible(frame: Frame, edge: number): boolean {
  const { edgeBounds } = frame.scene;
  const { x, y, width, height } = frame.world;
  return (
    (edgeBounds[4 * edge] ?? 0) <= x + width &&
    (edgeBounds[4 * edge + 1] ?? 0) <= y + height &&
    (edgeBounds[4 * edge + 2] ?? 0) >= x &&
    (edgeBounds[4 * edge + 3] ?? 0) >= y
  );
}

function colourOf(frame: Frame, edge: number, look: EdgeLook): string {
  const { theme, scene } = frame;
  const colours = {
    plain: theme.edge,
    flow: theme.edge,
    still: theme.edgeStill,
    bad: theme.bad,
    cut: theme.edgeCut,
  };
  // Long curves over the picture are many and lie over each other: they stay pale.
  const isPale = scene.placement.overlay[edge] === 1 && look.kind !== "bad";
  if (isLitEdge(frame, edge) && look.kind !== "bad") return theme.lit;
  const colour = isPale ? theme.edgeStill : colours[look.kind];
  const { source, target } = scene.visible;
  const end = target[edge] ?? -1;
  const isAhead = frame.playback?.stage[end] === AHEAD;
  const isOut = isAhead || (isFaded(frame, source[edge] ?? -1) && isFaded(frame, end));
  return isOut ? theme.faded(colour) : colour;
}

function dashOf(look: EdgeLook): readonly number[] {
  return look.kind === "cut" ? DASH.cut : look.kind === "still" ? DASH.still : [];
}

function paintStroke(
  context: Pen,
  frame: Frame,
  { colour, width, dash, edges }: Stroke,
): void {
  const { scale } = frame.view;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = Math.max(width, HAIRLINE / scale);
  context.setLineDash(dash as number[]);
  context.lineCap = "butt";
  context.lineJoin = "round";
  const hasArrows = scale >= DETAIL.arrows;
  context.beginPath();
  for (const edge of edges) tracePath(context, frame, edge, hasArrows);
  context.stroke();
  context.setLineDash([]);
  if (!hasArrows) return;
  context.beginPath();
  for (const edge of edges) traceArrow(context, frame, edge, width);
  context.fill();
}

function tracePath(context: Pen, frame: Frame, edge: number, hasArrow: boolean): void {
  const { points, starts } = frame.scene.placement;
  const start = starts[edge] ?? 0;
  const end = starts[edge + 1] ?? 0;
  const isTurned = frame.scene.edges[edge]?.isTurned === true;
  const back = hasArrow ? ARROW.length * 0.8 : 0;
  let x = points[start] ?? 0;
  let y = points[start + 1] ?? 0;
  context.moveTo(x, y + (isTurned ? back : 0));
  for (let i = start + 2; i < end; i += 2) {
    const toX = points[i] ?? 0;
    const isLast = i + 2 === end && !isTurned;
    const toY = (points[i + 1] ?? 0) - (isLast ? back : 0);
    if (toX === x) context.lineTo(toX, toY);
    else {
      const { x1, y1, x2, y2 } = controls(x, y, toX, toY);
      context.bezierCurveTo(x1, y1, x2, y2, toX, toY);
    }
    x = toX;
    y = points[i + 1] ?? 0;
  }
}

/** Arrows of tensors point down, those of gradients up. */
function traceArrow(context: Pen, frame: Frame, edge: number, width: number): void {
  const { points, starts } = frame.scene.placement;
  const isTurned = frame.scene.edges[edge]?.isTurned === true;
  const at = isTurned ? (starts[edge] ?? 0) : (starts[edge + 1] ?? 0) - 2;
  const x = points[at] ?? 0;
  const y = points[at + 1] ?? 0;
  const side = isTurned ? 1 : -1;
  const half = (ARROW.width + width) / 2;
  const foot = y + side * (ARROW.length + width / 2);
  context.moveTo(x, y);
  context.lineTo(x - half, foot);
  context.lineTo(x + half, foot);
  context.closePath();
}
