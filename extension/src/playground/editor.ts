// The program as text to edit, with the lines that findings blame.
import {
  defaultKeymap,
  history,
  historyKeymap,
  indentWithTab,
} from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Finding, Replacement } from "./protocol.js";

export interface Editor {
  text(): string;
  replace(text: string): void;
  /** Mark the lines to blame; they lose their marks where they are edited. */
  mark(findings: readonly Finding[]): void;
  goTo(line: number): void;
  apply(changes: readonly Replacement[]): void;
}

/** The offset of a place that counts from 1; places outside are moved to the nearest. */
function offset(doc: Text, line: number, column: number): number {
  const row = doc.line(Math.min(Math.max(line, 1), doc.lines));
  // Columns count characters, CodeMirror counts UTF-16 units.
  const before = Array.from(row.text).slice(0, Math.max(column - 1, 0));
  return row.from + before.join("").length;
}

function diagnosticOf(doc: Text, finding: Finding): Diagnostic[] {
  const { culprit, code, message, severity } = finding;
  if (culprit === null) return [];
  const from = offset(doc, culprit.line, culprit.column ?? 1);
  const last = culprit.end_column ?? Number.POSITIVE_INFINITY;
  const to = Math.max(offset(doc, culprit.end_line, last), from);
  return [{ from, to, severity, message: `${code}: ${message}` }];
}

/** Make an editor in an element; `run` is what Ctrl+Enter does. */
export function editorIn(
  parent: HTMLElement,
  options: { text: string; run(): void; changed(): void; describedBy: string },
): Editor {
  const run = () => {
    options.run();
    return true;
  };
  const extensions = [
    keymap.of([{ key: "Mod-Enter", run }, indentWithTab, ...historyKeymap]),
    keymap.of(defaultKeymap),
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    indentUnit.of("    "),
    python(),
    lintGutter(),
    syntaxHighlighting(classHighlighter),
    EditorView.contentAttributes.of({
      "aria-label": "Program",
      "aria-describedby": options.describedBy,
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.changed();
    }),
  ];
  const view = new EditorView({
    parent,
    state: EditorState.create({ doc: options.text, extensions }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace(text) {
      const changes = { from: 0, to: view.state.doc.length, insert: text };
      view.dispatch(setDiagnostics(view.state, []), {
        changes,
        selection: { anchor: 0 },
      });
    },
    mark(findings) {
      const { doc } = view.state;
      const found = findings.flatMap((each) => diagnosticOf(doc, each));
      view.dispatch(setDiagnostics(view.state, found));
    },
    goTo(line) {
      const anchor = offset(view.state.doc, line, 1);
      const effects = EditorView.scrollIntoView(anchor, { y: "center" });
      view.dispatch({ selection: { anchor }, effects });
      view.focus();
    },
    apply(changes) {
      const { doc } = view.state;
      view.dispatch({
        changes: changes.map((each) => ({
          from: offset(doc, each.line, each.column),
          to: offset(doc, each.end_line, each.end_column),
          insert: each.text,
        })),
      });
      view.focus();
    },
  };
}
