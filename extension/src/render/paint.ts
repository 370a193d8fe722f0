// Paints one frame: frames of open scopes, edges, boxes, highlights, words.
import { intersects } from "../geometry/rect.js";
import { frameTitles } from "../scene/frame-titles.js";
import { DETAIL, type Frame, frameFill, isFaded, isSelected } from "./frame.js";
import { paintBoxes } from "./paint-boxes.js";
import { paintEdges, paintHighlights } from "./paint-edges.js";
import { paintBadges, paintEdgeLabels } from "./paint-labels.js";
import { paintLinks } from "./paint-links.js";
import { paintGlow, paintPlayback } from "./paint-playback.js";
import { paintRooms } from "./paint-rooms.js";
import { paintSigns } from "./paint-signs.js";
import { paintFrameTitles } from "./paint-titles.js";
import type { Pen } from "./pen.js";

const FRAME_RADIUS = 12;

/** Wipe the canvas, and draw in units of the world from here on. */
function clear(context: Pen, { view, size, pixelRatio }: Frame): void {
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const scale = pixelRatio * view.scale;
  context.setTransform(scale, 0, 0, scale, pixelRatio * view.x, pixelRatio * view.y);
}

export function paint(context: Pen, frame: Frame): void {
  const { view, size, pixelRatio } = frame;
  clear(context, frame);
  paintFrames(context, frame);
  paintEdges(context, frame);
  paintHighlights(context, frame);
  paintLinks(context, frame);
  paintEdgeLabels(context, frame);
  paintGlow(context, frame);
  paintBoxes(context, frame);
  paintPlayback(context, frame);
  paintBadges(context, frame);
  paintSigns(context, frame);
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  const isFar = view.scale < DETAIL.names;
  const titles = isFar
    ? paintRooms(context, frame)
    : frameTitles(frame.scene, view, size);
  paintFrameTitles(context, frame, titles);
  paintHeadings(context, frame);
}

const HEADINGS = ["Forward ↓", "Backward ↑"] as const;
const HEADING_SIZE = 13;
const PLATE = { x: 9, height: 22, top: 4, radius: 5 };

/** The names of the two columns above them, or at the top of the screen. */
function paintHeadings(context: Pen, { scene, theme, text, view }: Frame): void {
  if (scene.half === scene.boxes.length) return;
  context.font = text.font(HEADING_SIZE, true);
  context.textAlign = "center";
  context.textBaseline = "middle";
  const y = Math.max(PLATE.top, view.y - PLATE.height - PLATE.top);
  for (const [index, words] of HEADINGS.entries()) {
    const share = index === 0 ? 0.25 : 0.75;
    const x = view.x + scene.bounds.width * share * view.scale;
    const width = text.measure(words, HEADING_SIZE, true) + 2 * PLATE.x;
    context.beginPath();
    context.roundRect(x - width / 2, y, width, PLATE.height, PLATE.radius);
    context.fillStyle = theme.badge;
    context.fill();
    context.fillStyle = theme.badgeText;
    context.fillText(words, x, y + PLATE.height / 2 + 0.5);
  }
}

/** Only boxes, for a small map of the whole. */
export function paintOverview(context: Pen, frame: Frame): void {
  clear(context, frame);
  paintFrames(context, frame);
  paintBoxes(context, frame);
}

/** The backgrounds of open scopes, the outer ones first. */
function paintFrames(context: Pen, frame: Frame): void {
  const { scene, theme, view } = frame;
  scene.boxGrid.query(frame.world, (item) => {
    const box = scene.boxes[item];
    if (box === undefined || box.shape !== "frame") return;
    if (!intersects(box, frame.world)) return;
    const fade = (colour: string) =>
      isFaded(frame, item) ? theme.faded(colour) : colour;
    context.beginPath();
    if (view.scale < DETAIL.shapes) context.rect(box.x, box.y, box.width, box.height);
    else context.roundRect(box.x, box.y, box.width, box.height, FRAME_RADIUS);
    context.fillStyle = fade(frameFill(frame, item));
    context.fill();
    const isChosen = isSelected(frame, item);
    context.strokeStyle = isChosen ? theme.accent : fade(theme.frameBorder);
    context.lineWidth = Math.max(isChosen ? 2.4 : 1, 0.6 / view.scale);
    context.stroke();
  });
}
