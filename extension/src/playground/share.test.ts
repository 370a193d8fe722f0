import { expect, test } from "vitest";
import { hashOf, LONGEST, programIn } from "./share.js";

test("a program comes back from an address as it was", async () => {
  const program = 'import torch\nprint("größer 🙂", 1 < 2)\n';
  const hash = await hashOf(program);
  expect(hash).toMatch(/^#p=[\w-]+$/);
  expect(await programIn(hash)).toBe(program);
});

test("what Python packs is read", async () => {
  expect(await programIn("#p=q1CwVTAEAA")).toBe("x = 1"); // tools/playground.py, link
});

test("an address without a program has none", async () => {
  expect(await programIn("")).toBeNull();
  expect(await programIn("#what-is-missing")).toBeNull();
});

test.each(["#p=%%%", "#p=AAAA", "#p=q1CwVT", "#p="])("%s is damaged", async (hash) => {
  await expect(programIn(hash)).rejects.toThrow();
});

test("a small address that grows beyond all bounds is refused", async () => {
  const hash = await hashOf("x".repeat(LONGEST + 1));
  expect(hash.length).toBeLessThan(2000);
  await expect(programIn(hash)).rejects.toThrow(RangeError);
});
