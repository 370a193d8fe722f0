// Programs in the address: deflated, in base64url, after "#p="; tools/site.py writes it too.
import { readAtMost } from "../hosts/read-at-most.js";

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

/** Send bytes through a stream and read at most so many. */
async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  most: number,
): Promise<Uint8Array> {
  const writer = stream.writable.getWriter();
  const written = writer.write(bytes).then(() => writer.close());
  written.catch(() => {}); // who reads hears of it
  return readAtMost(stream.readable, most);
}
