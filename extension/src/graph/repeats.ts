// Finds what stands several times in a row in a sequence of words.

/** `times` copies of the `period` words from `start` on. */
export interface Run {
  readonly start: number;
  readonly period: number;
  readonly times: number;
  /** Where the likeness ends: less than a period after the last copy. */
  readonly end: number;
}

const LONGEST_PERIOD = 48;
const LEAST_TIMES = 3; // folding two saves no room

/** The runs of a sequence that do not overlap; those that cover most are taken first, of
 * equal ones those of the shortest period.
 *
 * @example
 * findRuns([7, 1, 2, 1, 2, 1, 2, 9]); // [{ start: 1, period: 2, times: 3, end: 7 }] */
export function findRuns(words: Int32Array): Run[] {
  const found: Run[] = [];
  const longest = Math.min(LONGEST_PERIOD, Math.floor(words.length / LEAST_TIMES));
  for (let period = 1; period <= longest; period++) addRuns(words, period, found);
  found.sort((a, b) => lengthOf(b) - lengthOf(a) || a.period - b.period);
  const taken = new Uint8Array(words.length);
  const kept = found.filter((run) => {
    const end = run.start + lengthOf(run);
    if (taken[run.start] === 1 || taken[end - 1] === 1) return false;
    if (taken.subarray(run.start, end).includes(1)) return false;
    taken.fill(1, run.start, end);
    return true;
  });
  return kept.sort((a, b) => a.start - b.start);
}

function lengthOf({ period, times }: Run): number {
  return period * times;
}

/** Stretches in which each word equals the one a period later. */
function addRuns(words: Int32Array, period: number, found: Run[]): void {
  const last = words.length - period;
  let start = 0;
  for (let at = 0; at <= last; at++) {
    if (at < last && words[at] === words[at + period]) continue;
    const times = Math.floor((at - start) / period) + 1;
    if (at > start && times >= LEAST_TIMES) {
      found.push({ start, period, times, end: at + period });
    }
    start = at + 1;
  }
}
