// Which terms of the loss reach each parameter, and what part of its gradient each gave.
import type { Snapshot } from "../ir/types.js";

export interface TermPart {
  readonly term: number;
  readonly name: string;
  /** From 0 to 1, where the terms meet; null: not told apart. */
  readonly share: number | null;
}

/** Per row of the flow; empty where the loss is not told apart. */
export function termParts({
  loss_terms,
  term_shares,
}: Snapshot): ReadonlyMap<number, readonly TermPart[]> {
  const parts = new Map<number, TermPart[]>();
  for (const { layer, term, share } of term_shares) {
    const part = { term, name: loss_terms[term]?.name ?? "", share };
    parts.set(layer, [...(parts.get(layer) ?? []), part]);
  }
  return parts;
}
