// The hint for those who see the view for the first time; remembered when it is dismissed.

/** Where a host remembers things from one view to the next; each call may fail. */
export interface Memory {
  get(key: string): string | null;
  set(key: string, value: string): void;
}

const KEY = "gradviz:hint";
/** Raised when the hint says something new that is worth another look. */
const EDITION = "1";

/** Whether the hint was never dismissed; not shown where nothing can be remembered. */
export function wantsHint(memory: Memory): boolean {
  try {
    return memory.get(KEY) !== EDITION;
  } catch {
    return false;
  }
}

export function forgetHint(memory: Memory): void {
  try {
    memory.set(KEY, EDITION);
  } catch {
    // Then it comes again, which is better than an error.
  }
}
