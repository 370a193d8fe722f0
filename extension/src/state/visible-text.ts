// Text from the user's program without the characters that act instead of being seen.

/** Line ends and tabs belong to code; everywhere else they would break a line. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const CONTROLS_IN_CODE = /(?![\t\n])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const SHORT: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/** A name on one line, its control characters written as Python writes them.
 *
 * Bidirectional ones would turn the text around, so that the name of one file reads as
 * that of another. */
export function visibleText(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** The same for code of several lines. */
export function visibleCode(text: string): string {
  return text.replace(CONTROLS_IN_CODE, escaped);
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  const long =
    code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  return SHORT[character] ?? long;
}
