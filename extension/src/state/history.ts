// Where the view has been: what undo and redo walk. Pure values.
import type { Gaze } from "./gaze.js";
import type { Selection, ViewMode } from "./ui.js";

/** What undo brings back; whatever else is on the screen is left as it is. */
export interface Waypoint {
  readonly selection: Selection | null;
  readonly collapsed: ReadonlySet<number>;
  readonly viewMode: ViewMode;
  readonly gaze: Gaze | null;
}

export interface History {
  /** Oldest first. */
  readonly past: readonly Waypoint[];
  /** The next to be done again first. */
  readonly future: readonly Waypoint[];
}

export const NO_HISTORY: History = { past: [], future: [] };
const LONGEST = 100;

/** The user left a place for another. */
export function leave({ past }: History, from: Waypoint): History {
  return { past: [...past, from].slice(-LONGEST), future: [] };
}

/** Go back from a place, or null where the user has always been here. */
export function back({ past, future }: History, from: Waypoint) {
  const to = past.at(-1);
  if (to === undefined) return null;
  return { to, history: { past: past.slice(0, -1), future: [from, ...future] } };
}

/** Go where the user went back from. */
export function forth({ past, future }: History, from: Waypoint) {
  const [to, ...rest] = future;
  if (to === undefined) return null;
  return { to, history: { past: [...past, from], future: rest } };
}
