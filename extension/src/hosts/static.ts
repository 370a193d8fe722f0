// The host of an exported page: the snapshot lies in the page itself, nothing is fetched.
import { type Mounted, mount } from "../app.js";
import { decodeSnapshot, SnapshotError } from "../ir/decode.js";
import type { Snapshot } from "../ir/types.js";
import { pageBookmarks } from "./bookmarks.js";
import { inflate } from "./inflate.js";
import { lendViewer } from "./lending.js";

const DATA_ID = "gradviz-data";
const BUNDLE_ID = "gradviz-bundle";
const DAMAGED = "The data in this page is damaged: it could not be unpacked.";

/** What an element of the page embeds as base64: a zlib stream. */
function embedded(page: Document, id: string): Uint8Array<ArrayBuffer> {
  const packed = atob(page.getElementById(id)?.textContent ?? "");
  // A loop: to iterate over a text makes a string of every letter, 0.1 s for 1 MB.
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  return bytes;
}

/** Read the columns that the page embeds. */
export async function readPage(page: Document): Promise<Snapshot> {
  if (!page.getElementById(DATA_ID)?.textContent?.trim()) {
    throw new SnapshotError("This page holds no graph data.");
  }
  let bytes: Uint8Array;
  let packed: Uint8Array<ArrayBuffer>;
  try {
    packed = embedded(page, DATA_ID);
    bytes = await inflate(packed);
  } catch {
    throw new SnapshotError(DAMAGED);
  }
  return decodeSnapshot(bytes, packed.length);
}

/** Show the page's snapshot in `el`, as high as the window.
 *
 * In a frame, as in a saved notebook, the page is an output among others. */
export function mountPage(el: HTMLElement): Mounted {
  const page = el.ownerDocument;
  const bundle = async () =>
    new TextDecoder().decode(await inflate(embedded(page, BUNDLE_ID)));
  const bookmarks = pageBookmarks(window, el.dataset.view);
  const transport = {
    initial: readPage(page),
    bundle,
    ...(bookmarks && { bookmarks }),
  };
  const inCell = window.parent !== window;
  const held = page.getElementById(BUNDLE_ID);
  const digest = held?.dataset.integrity ?? "";
  if (inCell) lendViewer(window, digest, held?.textContent ?? "");
  return mount(el, transport, { height: "100vh", ownsPage: true, inCell });
}
