import { expect, test } from "vitest";
import { Recent } from "./recent.js";

const frame = () => new Promise<void>((done) => setTimeout(done));

test("texts that change with every update do not pile up", async () => {
  const recent = new Recent<number>(10);
  for (let update = 0; update < 1000; update++) {
    recent.of("always there", () => 0);
    recent.of(`norm ${update}`, () => update);
    await Promise.resolve();
  }
  expect(recent.size).toBeLessThanOrEqual(22);
  expect(recent.of("always there", () => 1)).toBe(0);
});

test("a frame with more texts than there is room is worked out once", async () => {
  const recent = new Recent<number>(10);
  let count = 0;
  const draw = () => {
    for (let text = 0; text < 500; text++) recent.of(`${text}`, () => count++);
  };
  for (let frames = 0; frames < 3; frames++) {
    draw();
    await frame();
  }
  expect(count).toBe(500);
});
