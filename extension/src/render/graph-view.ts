// The graph on a canvas: the one entry that the rest of the app uses to draw.
import { rectToWorld } from "../geometry/transform.js";
import { buildGraph } from "../graph/build.js";
import type { ColorBy } from "../graph/color-by.js";
import { cycleSentence } from "../graph/cycle.js";
import { SnapshotError } from "../ir/errors.js";
import type { Snapshot } from "../ir/types.js";
import { frameTitles } from "../scene/frame-titles.js";
import { type Hit, hitTest, hitTitle } from "../scene/hit.js";
import { boxOfNode, entryBox } from "../scene/scene.js";
import { neighbourOf } from "../scene/walk.js";
import { createCamera } from "./camera.js";
import { createSurface } from "./canvas.js";
import { listenToGestures } from "./gestures.js";
import { createLayoutClient } from "./layout-client.js";
import { paint } from "./paint.js";
import { createPicture } from "./picture.js";
import { createTextMetrics } from "./text-metrics.js";

export type { ColorBy };

export interface GraphViewState {
  readonly collapsed: ReadonlySet<number>;
  readonly selected: number | null;
  readonly selectedEdge: number | null;
  readonly hovered: number | null;
  readonly matches: ReadonlySet<number>;
  readonly colorBy: ColorBy;
  readonly theme: "light" | "dark";
}

export interface GraphViewEvents {
  onSelect(node: number | null): void;
  onSelectEdge(edge: number | null): void;
  onHover(node: number | null): void;
  onToggleScope(scope: number): void;
  onLayout(info: { boxes: number; millis: number }): void;
}

export interface GraphView {
  /** Show another snapshot; throws SnapshotError when it is not a graph. */
  setSnapshot(snapshot: Snapshot): void;
  setState(state: GraphViewState): void;
  /** Show the whole graph. */
  fit(): void;
  zoomBy(factor: number): void;
  panBy(dx: number, dy: number): void;
  /** Bring a node, or the closed scope that hides it, into view. */
  reveal(node: number): void;
  /** The nearest visible node in a direction, for arrow keys. */
  neighbour(node: number, direction: "up" | "down" | "left" | "right"): number | null;
  dispose(): void;
}

const EDGE_REACH = 6; // CSS pixels
const DOUBLE_CLICK_MILLIS = 350;
const DOUBLE_CLICK_ZOOM = 1.6;

/** Fill `host` with a canvas that shows a graph and reports what the user does to it. */
export function createGraphView(host: HTMLElement, events: GraphViewEvents): GraphView {
  const lifetime = new AbortController();
  const surface = createSurface(host, lifetime.signal, {
    onResize: (width, height) => {
      camera.resize(width, height);
      lookOnce();
    },
    onFrame: (now) => draw(now),
  });
  const window = host.ownerDocument.defaultView;
  const reducedMotion = window?.matchMedia?.("(prefers-reduced-motion: reduce)");
  const camera = createCamera({
    onChange: surface.requestFrame,
    prefersReducedMotion: () => reducedMotion?.matches ?? false,
    now: () => performance.now(),
  });
  const text = createTextMetrics(surface.context, surface.fontFamily());
  const layouts = createLayoutClient();
  let hasLooked = false;
  let pendingReveal: number | null = null;
  let isDragging = false;
  let toggledAt = Number.NEGATIVE_INFINITY;

  const visibleWorld = () =>
    rectToWorld(camera.view, { x: 0, y: 0, ...surface.size() });
  const picture = createPicture({
    layouts,
    text,
    world: visibleWorld,
    backgroundOf: surface.background,
    onScene(info, shift) {
      surface.say("");
      if (shift === "anew") hasLooked = false;
      else if (shift !== null) {
        const { scale } = camera.view;
        camera.pan(
          (shift.from.x - shift.to.x) * scale,
          (shift.from.y - shift.to.y) * scale,
        );
      }
      lookOnce();
      if (pendingReveal !== null) reveal(pendingReveal);
      surface.requestFrame();
      events.onLayout(info);
    },
    onFailure: (error) =>
      surface.say(error instanceof Error ? error.message : `${error}`),
    onChange: surface.requestFrame,
  });

  function lookOnce() {
    const scene = picture.scene();
    const { width, height } = surface.size();
    if (hasLooked || scene === null || width === 0 || height === 0) return;
    hasLooked = true;
    camera.firstLook(scene.bounds, entryBox(scene) ?? scene.bounds);
  }

  function draw(now: number): void {
    if (camera.step(now)) surface.requestFrame();
    const parts = picture.frame();
    if (parts === null) return;
    const size = surface.size();
    const pixelRatio = surface.pixelRatio();
    const world = visibleWorld();
    paint(surface.context, {
      ...parts,
      text,
      view: camera.view,
      size,
      pixelRatio,
      world,
    });
  }

  function reveal(node: number): void {
    const scene = picture.scene();
    if (picture.isStale() || scene === null) {
      pendingReveal = node;
      return;
    }
    pendingReveal = null;
    const box = boxOfNode(scene, node);
    if (box !== null) camera.reveal(box);
  }

  function hitAt(screen: { x: number; y: number }): Hit | null {
    const scene = picture.scene();
    if (scene === null) return null;
    const { view } = camera;
    const title = hitTitle(frameTitles(scene, view, surface.size()), screen);
    const world = rectToWorld(view, { ...screen, width: 0, height: 0 });
    return title ?? hitTest(scene, world, EDGE_REACH / view.scale);
  }

  function click(screen: { x: number; y: number }): void {
    const now = performance.now();
    // The second click of a double click would close again what the first one opened.
    if (now - toggledAt < DOUBLE_CLICK_MILLIS) return;
    const hit = hitAt(screen);
    if (hit?.kind === "node") events.onSelect(hit.node);
    else if (hit?.kind === "edge") events.onSelectEdge(hit.edge);
    else if (hit?.kind === "scope") {
      toggledAt = now;
      events.onToggleScope(hit.scope);
    } else events.onSelect(null);
  }

  listenToGestures(
    host,
    {
      onPan: (dx, dy) => camera.pan(dx, dy),
      onZoom: (factor, at) => camera.zoom(factor, at),
      onClick: click,
      onDoubleClick(at) {
        if (hitAt(at) === null) camera.zoom(DOUBLE_CLICK_ZOOM, at);
      },
      onDragging(dragging) {
        isDragging = dragging;
        surface.setCursor(dragging ? "grabbing" : "grab");
      },
      onHover(at) {
        if (isDragging) return;
        const hit = at === null ? null : hitAt(at);
        surface.setCursor(hit === null ? "grab" : "pointer");
        const node = hit?.kind === "node" ? hit.node : null;
        if (node !== picture.state()?.hovered) events.onHover(node);
      },
    },
    lifetime.signal,
  );

  const middle = () => {
    const { width, height } = surface.size();
    return { x: width / 2, y: height / 2 };
  };
  return {
    setSnapshot(snapshot) {
      const graph = buildGraph(snapshot);
      const problem = cycleSentence(graph);
      if (problem !== null) throw new SnapshotError(problem);
      picture.setGraph(graph);
    },
    setState: picture.setState,
    fit() {
      const scene = picture.scene();
      if (scene !== null) camera.fit(scene.bounds);
    },
    zoomBy: (factor) => camera.zoom(factor, middle()),
    panBy: (dx, dy) => camera.pan(dx, dy),
    reveal,
    neighbour(node, direction) {
      const scene = picture.scene();
      return scene === null ? null : neighbourOf(scene, node, direction);
    },
    dispose() {
      lifetime.abort();
      layouts.dispose();
      picture.dispose();
      surface.dispose();
    },
  };
}
