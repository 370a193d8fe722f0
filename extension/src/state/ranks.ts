// The processes that trained together, as rows: those that nothing sets apart share one.
import type { Process, Snapshot } from "../ir/types.js";

export interface RankRow {
  /** "3 and 17", "the other 246". */
  readonly label: string;
  readonly ranks: readonly number[];
  /** What sets them apart from most; "" where nothing does. */
  readonly state: string;
  /** How many steps they took: "64", "3–20"; "" where that is not known. */
  readonly steps: string;
  /** The process whose gradients stand for them; null where none are there. */
  readonly shown: number | null;
}

const SINGLE = 8; // so many processes have a row each
const RUNS = 6; // of ranks that a label names

/** Processes that something sets apart first, then what is left. */
export function rankRows(snapshot: Snapshot): readonly RankRow[] {
  const { processes, flow_steps } = snapshot;
  if (processes.length < 2) return [];
  const kept = new Set(flow_steps.flatMap(({ rank }) => rank ?? []));
  const groups = new Map<string, Process[]>();
  for (const process of processes) {
    const few = processes.length <= SINGLE;
    const key = few ? String(process.rank) : process.state;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [process]);
    else group.push(process);
  }
  const rows = [...groups.values()].map((group) => rowOf(group, kept));
  const odd = (row: RankRow) => (row.state === "" ? 1 : 0);
  return processes.length <= SINGLE ? rows : rows.sort((a, b) => odd(a) - odd(b));
}

function rowOf(group: readonly Process[], kept: ReadonlySet<number>): RankRow {
  const ranks = group.map(({ rank }) => rank);
  const state = group[0]?.state ?? "";
  const steps = group.flatMap((process) => process.steps ?? []);
  const ends = [...new Set([Math.min(...steps), Math.max(...steps)])];
  const candidates = group.flatMap(({ rank, like }) => [rank, like ?? rank]);
  return {
    label:
      state === "" && group.length > SINGLE
        ? `the other ${group.length}`
        : spans(ranks),
    ranks,
    state,
    steps: steps.length === 0 ? "" : ends.join("–"),
    shown: candidates.find((rank) => kept.has(rank)) ?? null,
  };
}

/** Ranks as a short list: "0–2 and 4". */
export function spans(ranks: readonly number[]): string {
  const runs: number[][] = [];
  for (const rank of ranks) {
    const last = runs.at(-1);
    if (last !== undefined && last.at(-1) === rank - 1) last.push(rank);
    else runs.push([rank]);
  }
  const words = runs
    .slice(0, RUNS)
    .flatMap((run) => (run.length > 2 ? `${run[0]}–${run.at(-1)}` : run.map(String)));
  const more = runs.slice(RUNS).reduce((sum, run) => sum + run.length, 0);
  const end = more > 0 ? `${more} more` : words.pop();
  return words.length === 0 ? `${end ?? ""}` : `${words.join(", ")} and ${end}`;
}
