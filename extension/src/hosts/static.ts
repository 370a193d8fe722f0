// The host of an exported page: the snapshot lies in the page itself, nothing is fetched.
import { type Mounted, mount } from "../app.js";
import { decodeSnapshot, SnapshotError } from "../ir/decode.js";
import type { Snapshot } from "../ir/types.js";
import { pageBookmarks } from "./bookmarks.js";
import { inflate } from "./inflate.js";

const DATA_ID = "gradviz-data";
const BUNDLE_ID = "gradviz-bundle";
const DAMAGED = "The data in this page is damaged: it could not be unpacked.";

/** Read the columns that the page embeds as base64 of a zlib stream. */
export async function readPage(page: Document): Promise<Snapshot> {
  const text = page.getElementById(DATA_ID)?.textContent?.trim();
  if (!text) throw new SnapshotError("This page holds no graph data.");
  let bytes: Uint8Array;
  try {
    bytes = await inflate(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  } catch {
    throw new SnapshotError(DAMAGED);
  }
  return decodeSnapshot(bytes);
}

/** Show the page's snapshot in `el`, as high as the window. */
export function mountPage(el: HTMLElement): Mounted {
  const page = el.ownerDocument;
  const bundle = () =>
    Promise.resolve(page.getElementById(BUNDLE_ID)?.textContent ?? "");
  const bookmarks = pageBookmarks(window);
  const transport = {
    initial: readPage(page),
    bundle,
    ...(bookmarks && { bookmarks }),
  };
  return mount(el, transport, { height: "100vh", ownsPage: true });
}
