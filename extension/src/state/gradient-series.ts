// The norm of one node's gradient over the steps that were recorded.
import { unfolded } from "../graph/fold.js";
import type { Statistics } from "../ir/types.js";
import { opLabel } from "./ledger.js";
import { type Pass, passesOf } from "./passes.js";
import { rowAt, type Tables } from "./tables.js";

export interface SeriesPoint {
  /** "pass 2", "step 40" */
  readonly label: string;
  /** null: no gradient arrived. */
  readonly norm: number | null;
  readonly bad: boolean;
}

interface Index {
  readonly passes: readonly Pass[];
  /** By pass: the node that plays a part, by the part. */
  readonly parts: readonly ReadonlyMap<string, number>[];
  /** By pass: the part that a node plays. */
  readonly partOf: readonly ReadonlyMap<number, string>[];
}

const indexes = new WeakMap<Tables, Index>();

/** A node's part in its pass: module, op, and the how-manieth of those it is. */
function indexOf(tables: Tables): Index {
  const known = indexes.get(tables);
  if (known !== undefined) return known;
  const snapshot = unfolded(tables.snapshot);
  const passes = passesOf(tables);
  const partOf = passes.map(({ nodes }) => {
    const counts = new Map<string, number>();
    return new Map(
      nodes.map((id) => {
        const scope = rowAt(snapshot.nodes, id)?.scope;
        const path = rowAt(snapshot.scopes, scope)?.path ?? "";
        // Outermost calls are counted from pass to pass: "Net#3" plays the part of "Net".
        const key = `${path.replace(/^([^.#]*)#\d+/, "$1")}|${opLabel(snapshot, id)}`;
        const count = counts.get(key) ?? 0;
        counts.set(key, count + 1);
        return [id, `${key}|${count}`];
      }),
    );
  });
  const parts = partOf.map((keys) => new Map([...keys].map(([id, key]) => [key, id])));
  const index = { passes, parts, partOf };
  indexes.set(tables, index);
  return index;
}

function isBad(row: Statistics | undefined): boolean {
  return row !== undefined && row.nans + row.infs > 0;
}

/** From the record of a training where there is one: it knows more steps than passes. */
function ofFlow({ snapshot }: Tables, id: number): SeriesPoint[] {
  // A recording has its node, and counts passes from 1.
  const layer = snapshot.flow_layers.findIndex(({ node }) => node === id);
  if (layer < 0) return [];
  return snapshot.flow
    .filter((point) => point.layer === layer)
    .map(({ step, norm, nans, infs }) => {
      const row = rowAt(snapshot.flow_steps, step);
      const number = (row?.number ?? step) + (row?.rank == null ? 1 : 0);
      return { label: `step ${number}`, norm, bad: nans + infs > 0 };
    });
}

/** The norms in order; fewer than two are no series. */
export function gradientSeries(tables: Tables, id: number): SeriesPoint[] {
  const flow = ofFlow(tables, id);
  if (flow.length > 1) return flow;
  if (tables.snapshot.parts.length > 0) return [];
  const { passes, parts, partOf } = indexOf(tables);
  const at = partOf.findIndex((keys) => keys.has(id));
  const part = partOf[at]?.get(id);
  if (passes.length < 2 || part === undefined) return [];
  return passes.map(({ label, gradients }, pass) => {
    const node = parts[pass]?.get(part);
    const found = node === undefined ? undefined : gradients.get(node);
    return { label, norm: found?.norm ?? null, bad: isBad(found) };
  });
}
