// Programs in the address: deflated, in base64url, after "#p="; tools/site.py writes it too.

const KEY = "p";
/** The most that an address may hold: a program, and no more. */
export const LONGEST = 200_000; // characters

/** The part of an address that holds a program. */
export async function hashOf(program: string): Promise<string> {
  const packed = await through(
    new TextEncoder().encode(program),
    new CompressionStream("deflate-raw"),
    Number.POSITIVE_INFINITY,
  );
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  const text = btoa(letters).replaceAll("+", "-").replaceAll("/", "_");
  return `#${KEY}=${text.replace(/=+$/, "")}`;
}

/** The program in an address; null where there is none.
 *
 * Raises RangeError for what is too long, and other errors for what is damaged. */
export async function programIn(hash: string): Promise<string | null> {
  const packed = new URLSearchParams(hash.replace(/^#/, "")).get(KEY);
  if (packed === null) return null;
  const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const plain = await through(bytes, new DecompressionStream("deflate-raw"), LONGEST);
  return new TextDecoder("utf-8", { fatal: true }).decode(plain);
}

/** Send bytes through a stream; stop where more comes out than is wanted. */
async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  most: number,
): Promise<Uint8Array> {
  const writer = stream.writable.getWriter();
  const written = writer.write(bytes).then(() => writer.close());
  written.catch(() => {}); // the reader below hears of it
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = stream.readable.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > most) {
      await reader.cancel();
      throw new RangeError("the program in the address is too long");
    }
    parts.push(part.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
