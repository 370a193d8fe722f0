// The canvas element: its size in device pixels, one frame at a time, a line of text.

export interface SurfaceEvents {
  onResize(): void;
  onFrame(now: number): void;
}

const FALLBACK_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const NO_CANVAS = "This browser cannot draw: it has no 2D canvas.";

/** Fills its host; both are gone after dispose. */
export class Surface {
  readonly context: CanvasRenderingContext2D;
  /** CSS pixels. */
  size: { readonly width: number; readonly height: number };
  private readonly canvas: HTMLCanvasElement;
  private readonly message: HTMLElement;
  private readonly observer: ResizeObserver | null;
  private pending = 0;
  /** Of the width, for something else. */
  private reserved = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly signal: AbortSignal,
    private readonly events: SurfaceEvents,
  ) {
    this.canvas = createCanvas(host.ownerDocument);
    const context = this.canvas.getContext("2d");
    if (context === null) throw new Error(NO_CANVAS);
    this.context = context;
    this.message = createMessage(host.ownerDocument);
    if (this.style().position === "static") host.style.position = "relative";
    host.style.cursor = "grab";
    host.append(this.canvas, this.message);
    this.size = { width: host.clientWidth, height: host.clientHeight };
    this.observer =
      typeof ResizeObserver === "undefined"
        ? null
        : new ResizeObserver(() => this.measure());
    this.observer?.observe(host);
    const onResize = () => this.requestFrame(); // perhaps another pixel ratio
    this.window.addEventListener("resize", onResize, { signal });
    // A tab that slept may have lost what was painted.
    const { ownerDocument } = host;
    ownerDocument.addEventListener("visibilitychange", onResize, { signal });
    this.canvas.addEventListener("contextrestored", onResize, { signal });
    queueMicrotask(() => {
      if (!signal.aborted) events.onResize();
    });
  }

  get pixelRatio(): number {
    return this.window.devicePixelRatio || 1;
  }

  /** Ask for a frame; many asks make one. */
  requestFrame(): void {
    if (this.pending !== 0 || this.signal.aborted) return;
    this.pending = this.window.requestAnimationFrame((now) => this.frame(now));
  }

  /** Do something once the frame that is being painted is on the screen. */
  afterFrame(act: () => void): void {
    this.window.setTimeout(() => {
      if (!this.signal.aborted) act();
    });
  }

  fontFamily(): string {
    return this.style().fontFamily || FALLBACK_FONT;
  }

  /** The page's background behind the canvas, as it is written; null if it says none. */
  background(): string | null {
    return this.style().getPropertyValue("--bg").trim() || null;
  }

  setCursor(cursor: string): void {
    this.host.style.cursor = cursor;
  }

  /** Show a sentence over the picture; "" removes it. */
  say(sentence: string): void {
    this.message.textContent = sentence;
  }

  dispose(): void {
    this.observer?.disconnect();
    this.window.cancelAnimationFrame(this.pending);
    this.canvas.remove();
    this.message.remove();
  }

  private get window(): Window {
    return this.host.ownerDocument.defaultView ?? window;
  }

  private style(): CSSStyleDeclaration {
    return this.window.getComputedStyle(this.host);
  }

  private frame(now: number): void {
    this.pending = 0;
    const width = Math.round(this.size.width * this.pixelRatio);
    const height = Math.round(this.size.height * this.pixelRatio);
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.events.onFrame(now);
  }

  /** The place of the graph, with what is kept free of it. */
  get outer(): { readonly width: number; readonly height: number } {
    return { width: this.host.clientWidth, height: this.host.clientHeight };
  }

  /** Keep a column on the right free of the graph, in CSS pixels. */
  reserve(width: number): void {
    if (width === this.reserved) return;
    this.reserved = width;
    this.canvas.style.width = `calc(100% - ${width}px)`;
    this.measure();
  }

  private measure(): void {
    const { width: all, height } = this.outer;
    const width = Math.max(0, all - this.reserved);
    if (width === this.size.width && height === this.size.height) return;
    this.size = { width, height };
    this.events.onResize();
    this.requestFrame();
  }
}

function createCanvas(page: Document): HTMLCanvasElement {
  const canvas = page.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true"); // the host and its text alternative speak
  Object.assign(canvas.style, {
    position: "absolute",
    inset: "0",
    width: "100%",
    height: "100%",
    display: "block",
    touchAction: "inherit",
  });
  return canvas;
}

function createMessage(page: Document): HTMLElement {
  const message = page.createElement("p");
  message.className = "says";
  message.setAttribute("role", "alert");
  Object.assign(message.style, {
    position: "absolute",
    inset: "auto 24px 50% 24px",
    textAlign: "center",
    pointerEvents: "none",
  });
  return message;
}
