// Inflates the zlib stream in which pages and kernels hand over columns.
import { mostBytes } from "../ir/bounds.js";

/** Return what the stream holds.
 *
 * @throws when it is damaged, or longer than a stream of its size should be. */
export async function inflate(
  packed: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const most = mostBytes(packed.length);
  const chunks: Uint8Array[] = [];
  let length = 0;
  // The stream of a Blob would take a way through another process.
  const { body } = new Response(packed);
  const reader = body?.pipeThrough(new DecompressionStream("deflate")).getReader();
  for (;;) {
    const read = await reader?.read();
    if (read?.value === undefined) break;
    chunks.push(read.value);
    length += read.value.length;
    if (length > most) {
      await reader?.cancel();
      throw new RangeError(`more than ${most} bytes`);
    }
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
