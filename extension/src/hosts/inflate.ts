// Inflates the zlib stream in which pages and kernels hand over columns.
import { mostBytes } from "../ir/bounds.js";
import { readAtMost } from "./read-at-most.js";

/** Return what the stream holds.
 *
 * @throws when it is damaged, or longer than a stream of its size should be. */
export async function inflate(
  packed: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  // The stream of a Blob would take a way through another process.
  const { body } = new Response(packed);
  if (body === null) return new Uint8Array();
  const plain = body.pipeThrough(new DecompressionStream("deflate"));
  return readAtMost(plain, mostBytes(packed.length));
}
