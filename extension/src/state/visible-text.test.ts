import fc from "fast-check";
import { expect, test } from "vitest";
import { visibleCode, visibleText } from "./visible-text.js";

test("a name cannot turn around what is read", () => {
  expect(visibleText("cod\u202eyp.exe")).toBe("cod\\u202eyp.exe");
  expect(visibleText("\u2067a\u2069")).toBe("\\u2067a\\u2069");
});

test("a name stays on its line", () => {
  expect(visibleText("line\nbreak\ttab\0nul\x1b[31mred\x7f\x85")).toBe(
    "line\\nbreak\\ttab\\x00nul\\x1b[31mred\\x7f\\x85",
  );
});

test("code keeps its lines and tabs, and nothing else that acts", () => {
  expect(visibleCode("if a:\n\tb()  # \u202e")).toBe("if a:\n\tb()  # \\u202e");
  expect(visibleCode("a\rb")).toBe("a\\rb");
});

test("text that only means what it shows is left alone", () => {
  for (const text of ["conv2d", "العربية", "日本語😀", "a‑b"]) {
    expect(visibleText(text)).toBe(text);
  }
});

test("nothing that acts is left, whatever the text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(visibleText(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      expect(visibleText(visibleText(text))).toBe(visibleText(text));
    }),
  );
});
