// Changes of the timeline: where it stands, whether it plays, and how fast.
import { batch } from "@preact/signals-core";
import { showStep } from "./actions-steps.js";
import { stepAt } from "./steps.js";
import type { Store } from "./store.js";
import type { PlayDirection } from "./ui.js";

/** Events a second, from slow enough to read to fast enough for a long recording. */
export const PLAY_SPEEDS = [1, 4, 16, 64, 256, 1024] as const;

/** Put the timeline after so many events; nothing is hidden any more when it is left. */
export function seek(store: Store, position: number): void {
  const { ui, derived } = store;
  const length = derived.timeline.value?.length ?? 0;
  if (length === 0) return;
  const at = Math.min(length, Math.max(0, Math.round(position)));
  batch(() => {
    const step = stepAt(derived.steps.value, at);
    if (step >= 0 && step !== derived.step.value) showStep(store, step);
    ui.position.value = at;
  });
}

/** Show the recording as a whole again. */
export function leaveTimeline({ ui }: Store): void {
  batch(() => {
    ui.position.value = null;
    ui.playing.value = 0;
  });
}

/** One event on or back; from the whole recording, to its first or its last event. */
export function stepEvent(store: Store, step: 1 | -1): void {
  const { ui, derived } = store;
  const length = derived.timeline.value?.length ?? 0;
  const from = ui.position.value ?? (step === 1 ? 0 : length);
  batch(() => {
    ui.playing.value = 0;
    seek(store, from + step);
    showCurrent(store);
  });
}

/** Move on by so many events while playing; stops at either end. */
export function advance(store: Store, events: number): void {
  const { ui, derived } = store;
  const length = derived.timeline.value?.length ?? 0;
  const position = (ui.position.value ?? 0) + events * ui.playing.value;
  batch(() => {
    seek(store, position);
    if (position <= 0 || position >= length) ui.playing.value = 0;
  });
}

/** Play in a direction, or stop; from the end it begins again. */
export function play(store: Store, direction: PlayDirection): void {
  const { ui, derived } = store;
  const length = derived.timeline.value?.length ?? 0;
  if (length === 0) return;
  batch(() => {
    const at = ui.position.value;
    if (direction === 1 && (at === null || at >= length)) seek(store, 0);
    if (direction === -1 && (at === null || at <= 0)) seek(store, length);
    ui.playing.value = direction;
  });
}

/** Play forwards, or stop what plays. */
export function togglePlay(store: Store): void {
  play(store, store.ui.playing.value === 0 ? 1 : 0);
}

export function setPlaySpeed({ ui }: Store, speed: number): void {
  ui.playSpeed.value = speed;
}

/** Go to the next event of the selected node; around the end. */
export function runToSelected(store: Store): void {
  const { ui, derived } = store;
  const { timeline } = derived;
  const selection = ui.selection.value;
  if (selection?.kind !== "node") return;
  const from = ui.position.value ?? 0;
  const at = timeline.value?.nextOf(selection.id, from) ?? null;
  if (at === null) return;
  batch(() => {
    ui.playing.value = 0;
    seek(store, at);
    showCurrent(store);
  });
}

/** Bring the node of the event into view. */
function showCurrent({ ui, derived }: Store): void {
  const node = derived.moment.value?.node ?? null;
  if (node !== null) ui.revealRequest.value = { nodes: [node] };
}
