// Inflates the zlib stream in which pages and kernels hand over columns.

export async function inflate(
  packed: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  // The stream of a Blob would take a way through another process.
  const { body } = new Response(packed);
  const stream = body?.pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
