// What a host gives the view: where snapshots come from and what the host can open.
import type { Delta } from "../ir/delta.js";
import type { Progress } from "../ir/progress.js";
import type { Site, Snapshot } from "../ir/types.js";
import type { KernelLink } from "./kernel.js";
import type { CursorPlace } from "./lit.js";

/** A place in the user's code, with what a notebook needs to find the cell. */
export interface RevealTarget extends Site {
  readonly cell_id: string | null;
  readonly label: string | null;
}

/** Where a page keeps what the user looks at. */
export interface Bookmarks {
  read(): string;
  write(text: string): void;
  /** An address that shows the same again. */
  link(): string;
  /** Call back when the user follows another link to the page; the answer ends it. */
  follow(callback: (text: string) => void): () => void;
}

export interface Transport {
  /** The first snapshot; a rejection is shown as one sentence. */
  readonly initial: Promise<Snapshot>;
  /** Call back for every later snapshot, and for what changes in the last one while code
   * runs; the answer ends the subscription. */
  onSnapshot?(
    callback: (snapshot: Snapshot) => void,
    onDelta: (delta: Delta) => void,
    onProgress?: (progress: Progress | null) => void,
  ): () => void;
  /** What the kernel offers besides snapshots; a page without a kernel leaves it out. */
  readonly kernel?: KernelLink;
  /** Open the place where the user wrote it; a host without an editor leaves it out. */
  reveal?(target: RevealTarget): void;
  /** Call back with where the cursor stands; a host without an editor leaves it out. */
  onCursor?(callback: (place: CursorPlace | null) => void): () => void;
  /** The address of a page of our own; other hosts have none to keep it in. */
  readonly bookmarks?: Bookmarks;
  /** The script that draws a page, to put into pages that the user saves. */
  bundle?(): Promise<string>;
}
