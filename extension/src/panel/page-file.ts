// Writes the page that gradviz.export_html writes: template, viewer and data in one file,
// which opens on what the user looks at.

import template from "gradviz:page";
import { encodeSnapshot } from "../ir/encode.js";
import type { Snapshot } from "../ir/types.js";
import { visibleText } from "../state/visible-text.js";
import { xmlText } from "../state/xml.js";

const NO_SCRIPT = "This page draws a graph with a script, and scripts are off.";
const PIECE = 0x8000; // what one call takes as arguments

export async function pageFile(
  snapshot: Snapshot,
  bundle: string,
  view: string,
): Promise<string> {
  const values: Readonly<Record<string, string>> = {
    title: xmlText(visibleText(snapshot.title || "gradviz")),
    text: NO_SCRIPT,
    data: base64(await deflate(encodeSnapshot(snapshot))),
    view: xmlText(view),
    integrity: "", // nobody lent it
    bundle: base64(await deflate(new TextEncoder().encode(bundle))),
  };
  return template.replace(/\$(\w+)/g, (whole, name: string) => values[name] ?? whole);
}

async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes])
    .stream()
    .pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  }
  return btoa(text);
}
