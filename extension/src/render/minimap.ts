// The whole graph in a column of its own, with the part that is in view framed; dragging
// moves it.
import { inflate, type Rect } from "../geometry/rect.js";
import type { Transform } from "../geometry/transform.js";
import { fitInto, type Point, rectToScreen, toWorld } from "../geometry/transform.js";
import { paintOverview } from "./paint.js";
import type { FrameParts } from "./picture.js";
import type { TextMetrics } from "./text-metrics.js";

const LARGEST = { width: 110, height: 2000 }; // CSS pixels
const LARGEST_SHARE = { width: 0.16, height: 0.94 }; // of the view: it has a column
const LEAST = { width: 34, height: 34 };
const PADDING = 6;
const CORNER = 8; // from the corner of the graph
const RADIUS = 6;
/** A smaller view has no corner to spare, and fewer boxes can be seen at once. */
const LEAST_VIEW = { width: 420, height: 260 };
const LEAST_BOXES = 20;
const SMALLEST_FRAME = 5;
/** Of a graph that is so many times as large as the window where its names can be read. */
const TIMES = 2;
const READABLE = 0.8;

export interface MinimapFrame {
  readonly parts: FrameParts;
  readonly text: TextMetrics;
  readonly view: Transform;
  readonly size: Size;
  /** With the column of the map. */
  readonly outer: Size;
  readonly pixelRatio: number;
  readonly isWanted: boolean;
}

export interface MinimapEvents {
  onPress(): void;
  /** Move the middle of the view to a point of the world. */
  onLook(world: Point): void;
}

export class Minimap {
  private readonly canvas: HTMLCanvasElement;
  private readonly overview: HTMLCanvasElement;
  /** What the overview shows; it is painted again when this changes. */
  private painted: readonly unknown[] = [];
  /** What the canvas wears the colours of. */
  private dressed: readonly unknown[] | null = null;
  private map: Transform | null = null;

  constructor(
    host: HTMLElement,
    signal: AbortSignal,
    private readonly events: MinimapEvents,
  ) {
    this.canvas = createCanvas(host.ownerDocument);
    this.overview = host.ownerDocument.createElement("canvas");
    host.append(this.canvas);
    this.listen(signal);
  }

  /** Paint the map, where there is one; the answer is the width of its column. */
  draw(frame: MinimapFrame): number {
    const isShown = frame.isWanted && isUseful(frame);
    if (this.canvas.hidden === isShown) this.canvas.hidden = !isShown;
    if (!isShown) return 0;
    const { bounds } = frame.parts.scene;
    const size = sizeFor(bounds, frame.outer);
    this.map = fitInto(bounds, inflate({ x: 0, y: 0, ...size }, -PADDING / 2), 1);
    this.paintOverview(frame, size, this.map);
    this.paint(frame, size, this.map);
    return size.width + 2 * CORNER;
  }

  dispose(): void {
    this.canvas.remove();
  }

  private listen(signal: AbortSignal): void {
    const { canvas } = this;
    const look = (event: PointerEvent) => {
      event.stopPropagation();
      if (this.map === null) return;
      const { left, top } = canvas.getBoundingClientRect();
      const at = { x: event.clientX - left, y: event.clientY - top };
      this.events.onLook(toWorld(this.map, at));
    };
    const options = { signal };
    canvas.addEventListener(
      "pointerdown",
      (event) => {
        canvas.setPointerCapture?.(event.pointerId);
        this.events.onPress();
        look(event);
      },
      options,
    );
    const isHeld = (event: PointerEvent) => canvas.hasPointerCapture(event.pointerId);
    canvas.addEventListener(
      "pointermove",
      (event) => (isHeld(event) ? look(event) : event.stopPropagation()),
      options,
    );
    for (const name of ["pointerup", "dblclick"]) {
      canvas.addEventListener(name, (event) => event.stopPropagation(), options);
    }
  }

  /** All boxes, once for each scene and look. */
  private paintOverview(frame: MinimapFrame, size: Size, map: Transform): void {
    const { parts, text, pixelRatio } = frame;
    const { scene, tones, matches, marks, lit, chain, theme } = parts;
    const shown = [
      scene,
      tones,
      matches,
      marks,
      lit,
      chain,
      theme.name,
      pixelRatio,
      size.height,
    ];
    if (shown.every((part, i) => part === this.painted[i])) return;
    if (parts.labels === null && this.painted.length > 0) return; // boxes move: wait
    this.painted = shown;
    resize(this.overview, size, pixelRatio);
    const context = this.overview.getContext("2d");
    if (context === null) return;
    const world = scene.bounds;
    paintOverview(context, { ...parts, text, view: map, size, pixelRatio, world });
  }

  private paint(frame: MinimapFrame, size: Size, map: Transform): void {
    const { parts, view, pixelRatio } = frame;
    const { theme } = parts;
    resize(this.canvas, size, pixelRatio);
    if (this.painted !== this.dressed) {
      this.canvas.style.borderColor = theme.frameBorder;
      this.canvas.style.background = theme.background;
      this.dressed = this.painted;
    }
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.overview, 0, 0);
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    const area = within(frameOn(map, view, frame.size), size);
    context.beginPath();
    context.roundRect(area.x, area.y, area.width, area.height, 2);
    context.globalAlpha = 0.12;
    context.fillStyle = theme.accent;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.strokeStyle = theme.accent;
    context.stroke();
    context.setTransform(1, 0, 0, 1, 0, 0);
  }
}

type Size = { readonly width: number; readonly height: number };

/** Whether the graph is much larger than the window, however far away it is looked at:
 * a map that came and went with the zoom would move the graph. */
function isUseful({ parts, outer }: MinimapFrame): boolean {
  const { bounds, boxes } = parts.scene;
  if (boxes.length < LEAST_BOXES) return false;
  if (outer.width < LEAST_VIEW.width || outer.height < LEAST_VIEW.height) return false;
  return (
    bounds.width * READABLE > outer.width * TIMES ||
    bounds.height * READABLE > outer.height * TIMES
  );
}

function sizeFor(bounds: Rect, view: Size): Size {
  const most = (name: keyof Size) =>
    Math.min(LARGEST[name], LARGEST_SHARE[name] * view[name]);
  const room = { x: 0, y: 0, width: most("width"), height: most("height") };
  const { scale } = fitInto(bounds, room, 1);
  const side = (name: "width" | "height") =>
    Math.ceil(
      Math.min(most(name), Math.max(LEAST[name], bounds[name] * scale + PADDING)),
    );
  return { width: side("width"), height: side("height") };
}

/** Where the view is on the map, at least large enough to be seen and inside of it. */
function frameOn(map: Transform, view: Transform, size: Size): Rect {
  const corner = toWorld(view, { x: 0, y: 0 });
  const world = {
    ...corner,
    width: size.width / view.scale,
    height: size.height / view.scale,
  };
  const { x, y, width, height } = rectToScreen(map, world);
  const wide = Math.max(width, SMALLEST_FRAME);
  const high = Math.max(height, SMALLEST_FRAME);
  return {
    x: x - (wide - width) / 2,
    y: y - (high - height) / 2,
    width: wide,
    height: high,
  };
}

/** The part of the frame that is on the map, with its border. */
function within(area: Rect, size: Size): Rect {
  const clamp = (value: number, most: number) => Math.min(most - 1, Math.max(1, value));
  const x = clamp(area.x, size.width);
  const y = clamp(area.y, size.height);
  const width = clamp(area.x + area.width, size.width) - x;
  return { x, y, width, height: clamp(area.y + area.height, size.height) - y };
}

function resize(canvas: HTMLCanvasElement, size: Size, pixelRatio: number): void {
  const width = Math.round(size.width * pixelRatio);
  const height = Math.round(size.height * pixelRatio);
  if (canvas.width === width && canvas.height === height) return;
  Object.assign(canvas, { width, height });
  canvas.style.width = `${size.width}px`;
  canvas.style.height = `${size.height}px`;
}

function createCanvas(page: Document): HTMLCanvasElement {
  const canvas = page.createElement("canvas");
  canvas.hidden = true;
  canvas.dataset.testid = "minimap";
  canvas.setAttribute("aria-hidden", "true"); // keys move the view in their own ways
  Object.assign(canvas.style, {
    position: "absolute",
    right: `${CORNER}px`,
    bottom: `${CORNER}px`,
    boxSizing: "content-box",
    border: "1px solid",
    borderRadius: `${RADIUS}px`,
    cursor: "crosshair",
    touchAction: "none",
  });
  return canvas;
}
