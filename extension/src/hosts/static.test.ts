import { expect, test, vi } from "vitest";
import { SnapshotError } from "../ir/decode.js";
import { readPage } from "./static.js";

vi.mock("../app.js", () => ({ mount: () => ({ dispose: () => {} }) }));

/** A page that embeds a text; jsdom cannot inflate, so only what is read is there. */
function pageWith(text: string): Document {
  const page: Pick<Document, "getElementById"> = {
    getElementById: (id) =>
      id === "gradviz-data" ? ({ textContent: text } as HTMLElement) : null,
  };
  return page as Document;
}

/** The smallest file of columns: a header without tables and no body. */
function emptyColumns(): Uint8Array<ArrayBuffer> {
  const header = JSON.stringify({
    schema: [1, 0],
    producer: "test 1.0",
    title: "nothing",
    roots: [],
    notes: ["No graph."],
    strings: [],
    tables: {},
  });
  const padded = header.padEnd(Math.ceil((header.length + 8) / 8) * 8 - 8, " ");
  const bytes = new TextEncoder().encode(`GVC1....${padded}`);
  new DataView(bytes.buffer).setUint32(4, padded.length, true);
  return bytes;
}

async function packed(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes])
    .stream()
    .pipeThrough(new CompressionStream("deflate"));
  const zlib = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...zlib));
}

test("reads the columns that the page embeds", async () => {
  const snapshot = await readPage(pageWith(`\n${await packed(emptyColumns())}\n`));
  expect([snapshot.title, snapshot.notes]).toEqual(["nothing", ["No graph."]]);
});

test.each([
  ["nothing embedded", "", /holds no graph data/],
  ["text that is not base64", "%%%", /could not be unpacked/],
  ["a stream that is cut short", "eJw=", /could not be unpacked/],
])("%s is refused in one sentence", async (_, text, sentence) => {
  const refusal = readPage(pageWith(text));
  await expect(refusal).rejects.toBeInstanceOf(SnapshotError);
  await expect(refusal).rejects.toThrow(sentence);
});
