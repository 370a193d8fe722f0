// What the view says about something that the user just did.
import type { Store } from "./store.js";

/** Say a sentence in the status line; it stays until the next one. */
export function setNotice({ ui }: Store, sentence: string | null): void {
  ui.notice.value = sentence;
}
