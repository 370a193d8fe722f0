// Any text as text or attribute of an XML file.

// What XML has no place for: control characters, halves of surrogate pairs, two more.
const IMPOSSIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;
const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function xmlText(text: string): string {
  return text
    .replace(IMPOSSIBLE, "\ufffd")
    .replace(/[&<>"']/g, (letter) => ESCAPES[letter] ?? letter);
}
