// Connects the view to the bookmarks of its page: what it begins with, and what it keeps.
import { effect } from "@preact/signals-core";
import { applyBookmark, writeBookmark } from "../state/bookmark.js";
import type { Store } from "../state/store.js";
import type { Bookmarks } from "../state/transport.js";

/** Begin with the page's bookmark once a snapshot is there, and keep it up to date. */
export function keepBookmarks(
  store: Store,
  bookmarks: Bookmarks,
  signal: AbortSignal,
): void {
  let isReady = false;
  const stop = effect(() => {
    const text = writeBookmark(store);
    if (isReady) bookmarks.write(text);
  });
  const begin = effect(() => {
    if (isReady || store.data.snapshot.value === null) return;
    isReady = true;
    applyBookmark(store, bookmarks.read());
  });
  const unfollow = bookmarks.follow((text) => applyBookmark(store, text));
  signal.addEventListener("abort", () => {
    stop();
    begin();
    unfollow();
  });
}
