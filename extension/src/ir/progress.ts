// How far the code is that runs: what a kernel tells beside snapshots and deltas.

export interface Progress {
  readonly steps: number;
  /** The loss of the last step; null where it cannot be asked for without waiting. */
  readonly loss: number | null;
}

/** Read a message of the kernel; null: nothing runs any more. */
export function decodeProgress(content: unknown): Progress | null {
  const { steps, loss } = (content ?? {}) as { steps?: unknown; loss?: unknown };
  if (typeof steps !== "number") return null;
  return { steps, loss: typeof loss === "string" ? numberOf(loss) : null };
}

/** A number as Python writes it. */
function numberOf(text: string): number {
  const word = text.replace("inf", "Infinity");
  return word === "nan" ? Number.NaN : Number(word);
}
