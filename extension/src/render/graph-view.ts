// The graph on a canvas: the one entry that the rest of the app uses to draw.
import { type Rect, union } from "../geometry/rect.js";
import { type Point, rectToWorld, type Transform } from "../geometry/transform.js";
import { graphOf, hasSameTables } from "../graph/build.js";
import { cycleSentence } from "../graph/cycle.js";
import { SnapshotError } from "../ir/errors.js";
import type { Snapshot } from "../ir/types.js";
import type { Shift } from "../scene/anchor.js";
import { frameTitles } from "../scene/frame-titles.js";
import { type Hit, hitTest, hitTitle } from "../scene/hit.js";
import { boxOfNode, entryBox } from "../scene/scene.js";
import { type Direction, neighbourOf } from "../scene/walk.js";
import type { Gaze } from "../state/gaze.js";
import { Camera, roomIn } from "./camera.js";
import { Surface } from "./canvas.js";
import { Gazing } from "./gazing.js";
import { listenToGestures } from "./gestures.js";
import { LayoutClient } from "./layout-client.js";
import { Minimap } from "./minimap.js";
import { paint } from "./paint.js";
import { Picture, type SceneNews } from "./picture.js";
import { createTextMetrics, type TextMetrics } from "./text-metrics.js";
import type {
  ColorBy,
  GraphView,
  GraphViewEvents,
  GraphViewState,
} from "./view-types.js";
import type { Whole } from "./whole.js";

export type { ColorBy, GraphView, GraphViewEvents, GraphViewState };

const EDGE_REACH = 6; // CSS pixels
const DOUBLE_CLICK_MILLIS = 350;
const DOUBLE_CLICK_ZOOM = 1.6;

/** Fill `host` with a canvas that shows a graph and reports what the user does to it. */
export function createGraphView(host: HTMLElement, events: GraphViewEvents): GraphView {
  return new CanvasGraphView(host, events);
}

class CanvasGraphView implements GraphView {
  private readonly lifetime = new AbortController();
  private readonly layouts = new LayoutClient();
  private readonly surface: Surface;
  private readonly camera: Camera;
  private readonly text: TextMetrics;
  private readonly picture: Picture;
  private readonly gazing: Gazing;
  private readonly minimap: Minimap;
  private readonly prefersReducedMotion: () => boolean;
  /** The user, or a request, has moved the camera: it is no longer ours to place. */
  private hasMoved = false;
  private pendingReveal: readonly number[] | null = null;
  private isDragging = false;
  private boxes = 0; // of the scene before
  /** What was in view before the second column came. */
  private beforeTwins: Transform | null = null;
  /** The scene was not painted yet. */
  private isNew = false;
  private readonly marked = new Set<string>();
  private isSettled = false;
  private toggledAt = Number.NEGATIVE_INFINITY;

  constructor(
    host: HTMLElement,
    private readonly events: GraphViewEvents,
  ) {
    this.surface = new Surface(host, this.lifetime.signal, {
      onResize: () => this.resize(),
      onFrame: (now) => this.draw(now),
    });
    const page = host.ownerDocument.defaultView;
    const reducedMotion = page?.matchMedia?.("(prefers-reduced-motion: reduce)");
    this.prefersReducedMotion = () => reducedMotion?.matches ?? false;
    this.camera = new Camera({
      onChange: () => this.surface.requestFrame(),
      prefersReducedMotion: this.prefersReducedMotion,
      now: () => performance.now(),
    });
    this.text = createTextMetrics(this.surface.context, this.surface.fontFamily());
    this.picture = new Picture({
      layouts: this.layouts,
      text: this.text,
      look: () => ({ view: this.camera.view, size: this.surface.size }),
      background: () => this.surface.background(),
      onScene: (news) => this.showScene(news),
      onFailure: (error) => {
        this.surface.say(sentenceOf(error));
        this.settle();
      },
      onPending: (sentence) => this.surface.say(sentence),
      onChange: () => this.surface.requestFrame(),
    });
    this.gazing = new Gazing(
      this.camera,
      () => this.surface.size,
      events.onGaze.bind(events),
    );
    this.minimap = new Minimap(host, this.lifetime.signal, {
      onPress: () => events.onJump(),
      onLook: (world) => this.look({ scale: this.camera.view.scale, ...world }),
    });
    this.listen(host);
  }

  setSnapshot(snapshot: Snapshot): void {
    this.mark("snapshot");
    const { graph: before } = this.picture;
    const graph = graphOf(snapshot, before);
    if (before !== null && hasSameTables(before.snapshot, snapshot)) {
      this.picture.setNumbers(graph);
      return;
    }
    const problem = cycleSentence(graph);
    if (problem !== null) throw new SnapshotError(problem);
    this.picture.setGraph(graph);
  }

  setState(state: GraphViewState): void {
    this.picture.setState(state);
  }

  fit(): void {
    const { scene } = this.picture;
    if (scene === null) return;
    this.hasMoved = true;
    this.camera.fit(scene.bounds);
  }

  zoomBy(factor: number): void {
    const { width, height } = this.surface.size;
    this.zoom(factor, { x: width / 2, y: height / 2 });
  }

  panBy(dx: number, dy: number): void {
    this.hasMoved = true;
    this.camera.pan(dx, dy);
  }

  reveal(nodes: readonly number[]): void {
    const { scene, isStale } = this.picture;
    this.pendingReveal = scene === null || isStale ? nodes : null;
    const area = this.pendingReveal === null ? this.areaOf(nodes) : null;
    if (area === null) return;
    this.hasMoved = true;
    this.camera.reveal(area, scene?.bounds);
  }

  look(gaze: Gaze): void {
    this.hasMoved = true;
    this.pendingReveal = null;
    this.gazing.look(gaze, this.picture.scene === null || this.picture.isStale);
  }

  whole(): Whole | null {
    const parts = this.picture.frame(Number.POSITIVE_INFINITY);
    const seen = { view: this.camera.view, size: this.surface.size };
    return parts === null ? null : { parts, text: this.text, seen };
  }

  neighbour(node: number, direction: Direction): number | null {
    const { scene } = this.picture;
    return scene === null ? null : neighbourOf(scene, node, direction);
  }

  dispose(): void {
    this.lifetime.abort();
    this.layouts.dispose();
    this.picture.dispose();
    this.minimap.dispose();
    this.surface.dispose();
  }

  /** Where nodes are: all of them if they can be read together, else the first. */
  private areaOf(nodes: Iterable<number>): Rect | null {
    const { scene } = this.picture;
    const boxes = Array.from(nodes, (node) => scene && boxOfNode(scene, node));
    const rects = boxes.filter((box) => box !== null);
    const [first = null] = rects;
    if (first === null) return null;
    const all = rects.reduce<Rect>(union, first);
    return this.camera.canShow(all) ? all : first;
  }

  private listen(host: HTMLElement): void {
    const handlers = {
      takesWheel: () => this.events.takesWheel(),
      onPan: (dx: number, dy: number) => this.panBy(dx, dy),
      onZoom: (factor: number, at: Point) => this.zoom(factor, at),
      onClick: (at: Point) => this.click(at),
      onDoubleClick: (at: Point) => {
        const hit = this.hitAt(at);
        const isOver = performance.now() - this.toggledAt >= DOUBLE_CLICK_MILLIS;
        if (hit === null) this.zoom(DOUBLE_CLICK_ZOOM, at);
        else if (hit.kind === "scope" && isOver) this.toggle(hit.scope);
      },
      onDragging: (isDragging: boolean) => {
        this.isDragging = isDragging;
        this.surface.setCursor(isDragging ? "grabbing" : "grab");
        this.surface.requestFrame(); // the one in which the camera rests
      },
      onHover: (at: Point | null) => this.hover(at),
    };
    listenToGestures(host, handlers, this.lifetime.signal);
  }

  private resize(): void {
    const { width, height } = this.surface.size;
    this.camera.resize(width, height);
    if (!this.hasMoved) this.picture.setRoom(roomIn(this.surface.size));
    this.lookFirst();
  }

  private draw(now: number): void {
    const isMoving = this.camera.step(now);
    if (isMoving) this.surface.requestFrame();
    const parts = this.picture.frame(now);
    if (parts === null) return;
    const { surface, text } = this;
    const { size, pixelRatio } = surface;
    const { view } = this.camera;
    const world = this.visibleWorld();
    paint(surface.context, { ...parts, text, view, size, pixelRatio, world });
    if (this.isNew) this.mark("painted");
    this.settle();
    this.isNew = false;
    const isWanted = this.picture.state?.minimap ?? false;
    const { outer } = surface;
    surface.reserve(
      this.minimap.draw({ parts, text, view, size, outer, pixelRatio, isWanted }),
    );
    if (!isMoving && !this.isDragging) this.gazing.rest();
  }

  /** For the browser's profiler, and for benchmarks: the first time alone, as the
   * browser keeps every mark, and a live view draws on for hours. */
  private mark(what: "snapshot" | "painted"): void {
    if (!this.marked.has(what)) performance.mark?.(`gradviz:${what}`);
    this.marked.add(what);
  }

  private settle(): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.surface.afterFrame(() => this.events.onSettled());
  }

  private showScene({ boxes, millis, shift, toggled }: SceneNews): void {
    this.surface.say("");
    this.isNew = true;
    // The picture stays in place once someone has opened or closed a part of it.
    const { view: before } = this.camera;
    if (shift === "anew") {
      this.hasMoved = false;
      this.beforeTwins = null;
    } else if (toggled !== null) this.hasMoved = true;
    if (shift !== null && shift !== "anew" && this.hasMoved) this.keepInPlace(shift);
    this.lookFirst();
    this.lookAtColumns(before);
    if (boxes < this.boxes / 2 && toggled === null && this.picture.scene !== null)
      this.camera.fitIfSmall(this.picture.scene.bounds);
    this.boxes = boxes;
    if (this.gazing.arrive()) this.hasMoved = true; // a later resize leaves it there
    if (this.pendingReveal !== null) this.reveal(this.pendingReveal);
    this.surface.requestFrame();
    this.events.onLayout({ boxes, millis });
  }

  private keepInPlace(shift: Shift): void {
    const { scale } = this.camera.view;
    this.camera.pan(
      (shift.from.x - shift.to.x) * scale,
      (shift.from.y - shift.to.y) * scale,
    );
    if (!this.prefersReducedMotion()) this.picture.glide(shift, performance.now());
  }

  /** Until someone moves the camera, show the graph from its beginning; of one that does
   * not fit, the nodes that a finding points at. */
  private lookFirst(): void {
    const { scene } = this.picture;
    const { width, height } = this.surface.size;
    if (this.hasMoved || scene === null || width === 0 || height === 0) return;
    this.camera.firstLook(scene.bounds, entryBox(scene) ?? scene.bounds);
    const marked = this.areaOf(this.picture.state?.marks.keys() ?? []);
    if (marked !== null) this.camera.reveal(marked, scene.bounds);
  }

  /** When a second column comes, both are shown; when it goes, the first as it was. */
  private lookAtColumns(before: Transform): void {
    const { scene } = this.picture;
    const hasTwins = scene !== null && scene.half < scene.boxes.length;
    if (scene !== null && hasTwins && this.beforeTwins === null) {
      this.hasMoved = true;
      this.beforeTwins = before;
      this.camera.lookAtWidth(scene.bounds);
    } else if (!hasTwins && this.beforeTwins !== null) {
      this.camera.glide(this.beforeTwins);
      this.beforeTwins = null;
    }
  }

  private zoom(factor: number, at: Point): void {
    this.hasMoved = true;
    this.camera.zoom(factor, at);
  }

  private click(at: Point): void {
    const now = performance.now();
    // The second click of a double click would close again what the first one opened.
    if (now - this.toggledAt < DOUBLE_CLICK_MILLIS) return;
    const hit = this.hitAt(at);
    if (hit?.kind === "node") this.events.onSelect(hit.node);
    else if (hit?.kind === "edge") this.events.onSelectEdge(hit.edge);
    else if (hit?.kind === "scope" && hit.isMarker) this.toggle(hit.scope);
    else if (hit?.kind === "scope") this.events.onSelectScope(hit.scope);
    else this.events.onSelect(null);
  }

  private toggle(scope: number): void {
    this.toggledAt = performance.now();
    this.events.onToggleScope(scope);
  }

  private hover(at: Point | null): void {
    if (this.isDragging) return;
    const hit = at === null ? null : this.hitAt(at);
    this.surface.setCursor(hit === null ? "grab" : "pointer");
    const node = hit?.kind === "node" ? hit.node : null;
    if (node !== this.picture.state?.hovered) this.events.onHover(node);
  }

  private hitAt(screen: Point): Hit | null {
    const { scene } = this.picture;
    if (scene === null) return null;
    const { view } = this.camera;
    const title = hitTitle(frameTitles(scene, view, this.surface.size), screen);
    const world = rectToWorld(view, { ...screen, width: 0, height: 0 });
    return title ?? hitTest(scene, world, EDGE_REACH / view.scale);
  }

  private visibleWorld(): Rect {
    return rectToWorld(this.camera.view, { x: 0, y: 0, ...this.surface.size });
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
