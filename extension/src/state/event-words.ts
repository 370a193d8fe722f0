// An event as a sentence, in parts: names from the user's program apart from our words.
import type { Event, Snapshot } from "../ir/types.js";
import { formatNumber, formatTuple } from "./format.js";
import { placeOf } from "./inspect.js";
import { rowAt } from "./tables.js";
import { visibleText } from "./visible-text.js";

/** A piece of a sentence: ours, or a name that has to be isolated; it may be a node's. */
export type Part = string | { readonly name: string; readonly node?: number };

/** "MulBackward0 received a gradient of norm 0.13, train.py:12" */
export function eventParts(snapshot: Snapshot, event: Event): readonly Part[] {
  const words = WORDS[event.kind](snapshot, event);
  const node = rowAt(snapshot.nodes, event.node);
  const place = placeOf(snapshot, event.site ?? node?.site ?? null);
  return place === null ? words : [...words, ", ", { name: place.label }];
}

/** The same as plain text, for a slider's value. */
export function eventText(snapshot: Snapshot, event: Event): string {
  return eventParts(snapshot, event)
    .map((part) => (typeof part === "string" ? part : visibleText(part.name)))
    .join("");
}

type Words = (snapshot: Snapshot, event: Event) => Part[];

const WORDS: Readonly<Record<Event["kind"], Words>> = {
  op(snapshot, event) {
    const tensor = rowAt(snapshot.tensors, event.tensor);
    const shape = tensor === null ? "" : ` of shape ${formatTuple(tensor.shape)}`;
    const call: Part = { name: event.text || "An operation" };
    return event.node === null
      ? [call, ` ran outside of the graph`]
      : [call, ` made `, nodePart(snapshot, event), shape];
  },
  write(snapshot, event) {
    const storage = rowAt(snapshot.storages, event.storage);
    const alias = rowAt(snapshot.tensors, storage?.tensors[0]);
    const which = event.storage === null ? "a storage" : `storage ${event.storage}`;
    const named = alias?.name ? [" (", { name: alias.name }, ")"] : [];
    const version = event.version === null ? "" : `, now version ${event.version}`;
    return [{ name: event.text || "A write" }, ` wrote ${which}`, ...named, version];
  },
  grad_mode: (_, event) => [`Gradient recording was switched ${event.text}`],
  backward_begin: (_, event) => [
    "backward() began",
    ...(event.text === "" ? [] : [`: ${event.text} to run`]),
  ],
  backward_end: (_, event) =>
    event.text === ""
      ? ["backward() ended"]
      : ["backward() stopped: ", { name: event.text }],
  node_enter: (snapshot, event) => [
    nodePart(snapshot, event),
    ` received ${gradient(snapshot, event.statistics)}`,
  ],
  node_leave(snapshot, event) {
    const hands = snapshot.edges.filter(
      ({ target, gradient: row }) => target === event.node && row !== null,
    ).length;
    const many = hands === 1 ? "a gradient" : `${hands} gradients`;
    const what = hands === 0 ? " is done" : ` passed ${many} on`;
    return [nodePart(snapshot, event), what];
  },
  accumulate(snapshot, event) {
    const tensor = rowAt(snapshot.tensors, event.tensor);
    const leaf: Part =
      tensor?.name != null
        ? {
            name: `${tensor.name}.grad`,
            ...(event.node !== null && { node: event.node }),
          }
        : "The .grad of a leaf";
    const sum = rowAt(snapshot.statistics, event.grad);
    const now = sum === null ? "" : `; the sum in it now has norm ${normOf(sum)}`;
    return [leaf, ` took in ${gradient(snapshot, event.statistics)}${now}`];
  },
  hook: (snapshot, event) => [
    "The hook ",
    { name: event.text || "of a user" },
    ...(event.node === null ? [" ran"] : [" ran on ", nodePart(snapshot, event)]),
  ],
  optimizer_step: (_, event) => [{ name: event.text || "The optimizer" }, " stepped"],
  module_enter: (snapshot, event) => ["Entered ", scopePart(snapshot, event)],
  module_leave: (snapshot, event) => ["Left ", scopePart(snapshot, event)],
  error: (_, event) => ["The code raised ", { name: event.text }],
};

function nodePart(snapshot: Snapshot, { node }: Event): Part {
  const row = rowAt(snapshot.nodes, node);
  if (row === null || node === null) return "A node that was dropped";
  return { name: row.name, node };
}

function scopePart(snapshot: Snapshot, { scope }: Event): Part {
  const row = rowAt(snapshot.scopes, scope);
  return row === null ? "a module" : { name: row.path };
}

function gradient(snapshot: Snapshot, row: number | null): string {
  const found = rowAt(snapshot.statistics, row);
  if (found === null) return "a gradient";
  const bad = [
    ...(found.nans > 0 ? [`${found.nans} NaN`] : []),
    ...(found.infs > 0 ? [`${found.infs} Inf`] : []),
  ];
  const beside = bad.length === 0 ? "" : ` with ${bad.join(" and ")}`;
  return `a gradient of norm ${normOf(found)}${beside}`;
}

function normOf({ norm }: { readonly norm: number | null }): string {
  return norm === null ? "unknown" : formatNumber(Number(norm.toPrecision(3)));
}
