// The one error of the readers: a sentence that the user can act on.

/** A snapshot that cannot be shown; the message is a sentence for the user. */
export class SnapshotError extends Error {
  override readonly name = "SnapshotError";
}

/** An error that says which part of the snapshot contradicts itself. */
export function damaged(what: string): SnapshotError {
  return new SnapshotError(`The snapshot is damaged: ${what}.`);
}

export const NOT_A_SNAPSHOT = "This is not a gradviz snapshot.";
export const CUT_SHORT =
  "The snapshot is cut short: the file or message ended too early.";
