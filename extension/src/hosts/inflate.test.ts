import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { inflate } from "./inflate.js";

test("what was deflated comes back", async () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => at % 251);
  const packed = Uint8Array.from(deflateSync(bytes));
  expect(await inflate(packed)).toEqual(bytes);
});

test("a stream that grows out of all proportion is given up", async () => {
  const packed = Uint8Array.from(deflateSync(new Uint8Array(128 * 2 ** 20)));
  expect(packed.length).toBeLessThan(150_000);
  await expect(inflate(packed)).rejects.toThrow("more than");
});
