// Where the camera looks, apart from how large the view is.

/** A world point in the middle of the view, and CSS pixels per world unit. */
export interface Gaze {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/** Whether two gazes show the same, as far as an eye can tell. */
export function isSameGaze(a: Gaze | null, b: Gaze | null): boolean {
  if (a === null || b === null) return a === b;
  const pixels = Math.hypot(a.x - b.x, a.y - b.y) * a.scale;
  return pixels < 1 && Math.abs(a.scale / b.scale - 1) < 0.005;
}
