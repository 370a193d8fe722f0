// Text from the user's program without the characters that act instead of being seen.

/** Line ends and tabs belong to code; everywhere else they would break a line. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const CONTROLS_IN_CODE = /(?![\t\n])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const PICTURES = 0x2400; // ␀, ␁, … stand for the first 32 characters in their order
const DELETE = 0x7f;

/** A name on one line, its control characters shown: "a\nb" becomes "a␊b".
 *
 * Bidirectional controls would turn the text around, so that "cod\u202eexe.py" reads as
 * another file: they become "[U+202E]". */
export function visibleText(text: string): string {
  return text.replace(CONTROLS, picture);
}

/** The same for code of several lines. */
export function visibleCode(text: string): string {
  return text.replace(CONTROLS_IN_CODE, picture);
}

function picture(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(PICTURES + code);
  if (code === DELETE) return "␡";
  return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
}
