// Keeps what the user looks at in the address of the page, so that a link shows it again.
import type { Bookmarks } from "../state/transport.js";

/** A frame of a notebook has none that anyone could open. */
const ADDRESSES = ["file:", "http:", "https:"];
const PAUSE_MS = 400; // browsers refuse more than some hundred changes in 30 seconds

/** The address of a page of our own; undefined where it has none to share.
 *
 * Where it says nothing the page begins as it was saved. */
export function pageBookmarks(page: Window, saved = ""): Bookmarks | undefined {
  if (!ADDRESSES.includes(page.location.protocol)) return undefined;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let latest = page.location.hash.slice(1) || saved;
  const address = () => `${page.location.href.split("#")[0]}#${latest}`;
  return {
    read: () => latest,
    write(text) {
      latest = text;
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        try {
          page.history.replaceState(null, "", `#${text}`);
        } catch {
          // A frame without an address of its own; the link can still be copied.
        }
      }, PAUSE_MS);
    },
    link: address,
    follow(callback) {
      const told = () => {
        latest = page.location.hash.slice(1);
        callback(latest);
      };
      page.addEventListener("hashchange", told);
      return () => page.removeEventListener("hashchange", told);
    },
  };
}
