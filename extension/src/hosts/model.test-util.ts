// A widget model without a kernel: tests read what was sent and play the answers.
import type { ModelCallback, WidgetModel } from "./model.js";

export interface FakeModel extends WidgetModel {
  readonly sent: unknown[];
  /** Change a trait, or play an event such as "msg:custom". */
  change(trait: string, value: unknown): void;
  play(event: string, ...args: Parameters<ModelCallback>): void;
  listeners(): number;
}

export function fakeModel(traits: Record<string, unknown>): FakeModel {
  const callbacks = new Map<string, Set<ModelCallback>>();
  const at = (event: string) => {
    const known = callbacks.get(event) ?? new Set();
    callbacks.set(event, known);
    return known;
  };
  const sent: unknown[] = [];
  const play: FakeModel["play"] = (event, ...args) => {
    for (const callback of at(event)) callback(...args);
  };
  return {
    sent,
    play,
    get: (trait) => traits[trait],
    on: (event, callback) => void at(event).add(callback),
    off: (event, callback) => void at(event).delete(callback),
    send: (content) => void sent.push(content),
    change(trait, value) {
      traits[trait] = value;
      play(`change:${trait}`);
    },
    listeners: () => [...callbacks.values()].reduce((sum, set) => sum + set.size, 0),
  };
}
