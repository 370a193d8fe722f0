// What each key does: a pure table from a key press to a command.

import type { StepCommand } from "../state/kernel.js";

export type Command =
  | { readonly kind: "walk"; readonly direction: "up" | "down" | "left" | "right" }
  | { readonly kind: "zoom"; readonly direction: "in" | "out" }
  | { readonly kind: "toggle" | "search" | "fit" | "table" | "clear" | "help" | "play" }
  | { readonly kind: "finding" | "event" | "step" | "story"; readonly step: 1 | -1 }
  | { readonly kind: "flow" | "links" }
  | { readonly kind: "minimap" | "undo" | "redo" }
  | { readonly kind: "stepping"; readonly command: StepCommand };

export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

/** Where the key was pressed: each place leaves some keys to the element itself. */
export type KeyPlace = "canvas" | "story" | "text" | "control" | "elsewhere";

export const ANYWHERE: Readonly<Record<string, Command>> = {
  "/": { kind: "search" },
  "?": { kind: "help" },
  f: { kind: "fit" },
  t: { kind: "table" },
  m: { kind: "minimap" },
  d: { kind: "flow" },
  l: { kind: "links" },
  "[": { kind: "step", step: -1 },
  "]": { kind: "step", step: 1 },
  n: { kind: "finding", step: 1 },
  N: { kind: "finding", step: -1 },
  w: { kind: "story", step: 1 },
  W: { kind: "story", step: -1 },
  s: { kind: "stepping", command: "step" },
  o: { kind: "stepping", command: "over" },
  u: { kind: "stepping", command: "run_to" },
  c: { kind: "stepping", command: "resume" },
  ".": { kind: "event", step: 1 },
  ",": { kind: "event", step: -1 },
  p: { kind: "play" },
  "+": { kind: "zoom", direction: "in" },
  "=": { kind: "zoom", direction: "in" },
  "-": { kind: "zoom", direction: "out" },
};

const ON_CANVAS: Readonly<Record<string, Command>> = {
  ArrowUp: { kind: "walk", direction: "up" },
  ArrowDown: { kind: "walk", direction: "down" },
  ArrowLeft: { kind: "walk", direction: "left" },
  ArrowRight: { kind: "walk", direction: "right" },
  Enter: { kind: "toggle" },
};

/** The command of a key press, or null to leave it to the browser. */
export function commandFor(press: KeyPress, place: KeyPlace): Command | null {
  if (press.altKey) return null;
  if (press.ctrlKey || press.metaKey) return withControl(press, place);
  if (press.key === "Escape") return { kind: "clear" };
  if (place === "text") return null;
  if (place === "story" && press.key.startsWith("Arrow"))
    return ON_CANVAS[press.key] ?? null;
  if (place === "canvas" && Object.hasOwn(ON_CANVAS, press.key)) {
    return ON_CANVAS[press.key] ?? null;
  }
  return Object.hasOwn(ANYWHERE, press.key) ? (ANYWHERE[press.key] ?? null) : null;
}

/** Undo and redo; text fields have their own. */
function withControl({ key, shiftKey }: KeyPress, place: KeyPlace): Command | null {
  if (place === "text") return null;
  const letter = key.toLowerCase();
  if (letter === "z") return { kind: shiftKey ? "redo" : "undo" };
  return letter === "y" ? { kind: "redo" } : null;
}

/** Tell the places apart by the element that has the focus. */
export function placeOfTarget(target: EventTarget | null | undefined): KeyPlace {
  if (!(target instanceof HTMLElement)) return "elsewhere";
  // Nothing has the focus: the graph is what the user looks at.
  if (target === target.ownerDocument.body) return "canvas";
  if (target.dataset.gvCanvas !== undefined) return "canvas";
  if (target.dataset.gvStop !== undefined) return "story";
  // A select jumps to options by letter, so single letters belong to it as well.
  if (target.matches("input:not([type=range]), textarea, select")) return "text";
  return target.matches("button, summary, [role=gridcell]") ? "control" : "elsewhere";
}
