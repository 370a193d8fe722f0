// Tells where the camera came to rest, and brings it back to where it was told to look.
import { type Transform, toWorld } from "../geometry/transform.js";
import { type Gaze, isSameGaze } from "../state/gaze.js";
import type { Camera } from "./camera.js";

interface Size {
  readonly width: number;
  readonly height: number;
}

export class Gazing {
  /** Where to look once the picture is laid out. */
  private pending: Gaze | null = null;
  private told: Gaze | null = null;

  constructor(
    private readonly camera: Camera,
    private readonly sizeOf: () => Size,
    private readonly tell: (gaze: Gaze) => void,
  ) {}

  /** Look there; after the layout that is on its way, if one is. True if it is done. */
  look(gaze: Gaze, isStale: boolean): boolean {
    this.pending = isStale ? gaze : null;
    if (!isStale) this.camera.jump(viewOf(gaze, this.sizeOf()));
    return !isStale;
  }

  /** The layout is there: look where it was asked for. True if that was asked for. */
  arrive(): boolean {
    const { pending } = this;
    return pending !== null && this.look(pending, false);
  }

  /** Call at the end of a frame in which nothing moves any more. */
  rest(): void {
    const size = this.sizeOf();
    if (size.width === 0) return;
    const gaze = gazeOf(this.camera.view, size);
    if (isSameGaze(gaze, this.told)) return;
    this.told = gaze;
    this.tell(gaze);
  }
}

function gazeOf(view: Transform, { width, height }: Size): Gaze {
  return { scale: view.scale, ...toWorld(view, { x: width / 2, y: height / 2 }) };
}

function viewOf({ scale, x, y }: Gaze, { width, height }: Size): Transform {
  return { scale, x: width / 2 - x * scale, y: height / 2 - y * scale };
}
