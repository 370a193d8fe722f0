// The canvas element: its size in device pixels, one frame at a time, a line of text.

export interface SurfaceEvents {
  /** CSS pixels. */
  onResize(width: number, height: number): void;
  onFrame(now: number): void;
}

export interface Surface {
  readonly context: CanvasRenderingContext2D;
  /** Ask for a frame; many asks make one. */
  requestFrame(): void;
  size(): { readonly width: number; readonly height: number };
  pixelRatio(): number;
  fontFamily(): string;
  /** The page's background behind the canvas, where it says it in a colour we can read. */
  background(): string | null;
  setCursor(cursor: string): void;
  /** Show a sentence instead of a picture; "" removes it. */
  say(sentence: string): void;
  dispose(): void;
}

const FALLBACK_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const NO_CANVAS = "This browser cannot draw: it has no 2D canvas.";

export function createSurface(
  host: HTMLElement,
  signal: AbortSignal,
  events: SurfaceEvents,
): Surface {
  const page = host.ownerDocument;
  const window = page.defaultView;
  const canvas = page.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true"); // the host and its text alternative speak
  Object.assign(canvas.style, {
    position: "absolute",
    inset: "0",
    width: "100%",
    height: "100%",
    display: "block",
    touchAction: "none",
  });
  const context = canvas.getContext("2d");
  if (context === null) throw new Error(NO_CANVAS);
  const message = page.createElement("p");
  message.setAttribute("role", "alert");
  Object.assign(message.style, {
    position: "absolute",
    inset: "auto 24px 50% 24px",
    textAlign: "center",
    pointerEvents: "none",
  });
  if (window?.getComputedStyle(host).position === "static") {
    host.style.position = "relative";
  }
  host.style.touchAction = "none";
  host.style.cursor = "grab";
  host.append(canvas, message);

  let pending = 0;
  let size = { width: host.clientWidth, height: host.clientHeight };
  const pixelRatio = () => window?.devicePixelRatio || 1;
  const frame = (now: number) => {
    pending = 0;
    const width = Math.round(size.width * pixelRatio());
    const height = Math.round(size.height * pixelRatio());
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    events.onFrame(now);
  };
  const requestFrame = () => {
    if (pending === 0 && !signal.aborted) pending = requestAnimationFrame(frame);
  };
  const measure = () => {
    const next = { width: host.clientWidth, height: host.clientHeight };
    if (next.width === size.width && next.height === size.height) return;
    size = next;
    events.onResize(size.width, size.height);
    requestFrame();
  };
  const observer =
    typeof ResizeObserver === "undefined" ? null : new ResizeObserver(measure);
  observer?.observe(host);
  window?.addEventListener("resize", requestFrame, { signal }); // another pixel ratio
  queueMicrotask(() => {
    if (!signal.aborted) events.onResize(size.width, size.height);
  });

  return {
    context,
    requestFrame,
    size: () => size,
    pixelRatio,
    fontFamily: () => window?.getComputedStyle(host).fontFamily || FALLBACK_FONT,
    background: () =>
      window?.getComputedStyle(host).getPropertyValue("--bg").trim() || null,
    setCursor(cursor) {
      host.style.cursor = cursor;
    },
    say(sentence) {
      message.textContent = sentence;
    },
    dispose() {
      observer?.disconnect();
      cancelAnimationFrame(pending);
      canvas.remove();
      message.remove();
    },
  };
}
