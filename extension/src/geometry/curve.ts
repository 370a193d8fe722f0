// The shape of an edge between two of its points: an S that leaves and arrives vertically.

/** Sideways reach of an edge that runs upwards, so that it clears its own boxes. */
const UPWARD_REACH = 90;
const UPWARD_LEAD = 40;
const SAMPLES = 8;

export interface Cubic {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** The control points of the cubic from (x0, y0) to (x3, y3). */
export function controls(x0: number, y0: number, x3: number, y3: number): Cubic {
  if (y3 < y0) {
    const side = Math.max(x0, x3) + UPWARD_REACH;
    return { x1: side, y1: y0 + UPWARD_LEAD, x2: side, y2: y3 - UPWARD_LEAD };
  }
  const middle = (y0 + y3) / 2;
  return { x1: x0, y1: middle, x2: x3, y2: middle };
}

/** Distance from a point to the path through points[start .. end), pairs of x and y. */
export function distanceToPath(
  points: Float32Array,
  start: number,
  end: number,
  x: number,
  y: number,
): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = start; i + 3 < end; i += 2) {
    const [x0 = 0, y0 = 0, x3 = 0, y3 = 0] = points.subarray(i, i + 4);
    best = Math.min(best, distanceToStep(x0, y0, x3, y3, x, y));
  }
  return best;
}

function distanceToStep(
  x0: number,
  y0: number,
  x3: number,
  y3: number,
  x: number,
  y: number,
): number {
  if (x0 === x3 && y3 >= y0) return distanceToLine(x0, y0, x3, y3, x, y);
  const { x1, y1, x2, y2 } = controls(x0, y0, x3, y3);
  let best = Number.POSITIVE_INFINITY;
  let beforeX = x0;
  let beforeY = y0;
  for (let sample = 1; sample <= SAMPLES; sample++) {
    const t = sample / SAMPLES;
    const atX = cubicAt(x0, x1, x2, x3, t);
    const atY = cubicAt(y0, y1, y2, y3, t);
    best = Math.min(best, distanceToLine(beforeX, beforeY, atX, atY, x, y));
    beforeX = atX;
    beforeY = atY;
  }
  return best;
}

export function cubicAt(a: number, b: number, c: number, d: number, t: number): number {
  const s = 1 - t;
  return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
}

export function distanceToLine(
  ax: number,
  ay: number,
  bx: number,
  by: number,
  x: number,
  y: number,
): number {
  const dx = bx - ax;
  const dy = by - ay;
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((x - ax) * dx + (y - ay) * dy) / length;
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}
