// The expression that the user means: what is selected, or the name under the cursor.

interface Position {
  readonly line: number;
  readonly column: number;
}

export interface TextEditor {
  getLine(line: number): string | undefined;
  getCursorPosition(): Position;
  getSelection(): { readonly start: Position; readonly end: Position };
}

const NAMES = /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*/gu;

/** "" where there is neither, or where several lines are selected. */
export function selectedExpression(editor: TextEditor): string {
  const { start, end } = editor.getSelection();
  const isEmpty = start.line === end.line && start.column === end.column;
  if (!isEmpty) {
    if (start.line !== end.line) return "";
    const [from, to] = [start.column, end.column].sort((a, b) => a - b);
    return (editor.getLine(start.line) ?? "").slice(from, to).trim();
  }
  const { line, column } = editor.getCursorPosition();
  for (const name of (editor.getLine(line) ?? "").matchAll(NAMES)) {
    if (name.index <= column && column <= name.index + name[0].length) return name[0];
  }
  return "";
}
