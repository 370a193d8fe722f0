// Tells the views of the page where the cursor stands in the user's code.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { Cell, Editor, INotebookTracker } from "@jupyterlab/notebook";
import type { CursorPlace } from "../state/lit.js";
import { tellCursor } from "./notebook.js";

/** Follow the cursor of whichever cell is edited. */
export function watchCursor(notebooks: INotebookTracker): void {
  let stop = () => {};
  const watch = (_: unknown, cell: Cell | null) => {
    stop();
    stop = () => {};
    if (cell === null || cell.model.type !== "code") return;
    void cell.ready.then(() => {
      if (notebooks.activeCell !== cell || cell.isDisposed || cell.editor === null)
        return;
      stop = follow({ cell_id: cell.model.id, file: null }, cell.editor);
    });
  };
  notebooks.activeCellChanged.connect(watch);
  watch(notebooks, notebooks.activeCell);
}

/** Follow the cursor of whichever file is edited. */
export function watchFiles({ shell }: JupyterFrontEnd): void {
  let stop = () => {};
  const watch = () => {
    stop();
    stop = () => {};
    const { context, content } = (shell.currentWidget ?? {}) as Partial<FileWidget>;
    const { path } = context ?? {};
    const editor = content?.editor;
    if (path === undefined || editor?.model?.selections === undefined) return;
    stop = follow({ cell_id: null, file: path }, editor);
  };
  shell.currentChanged?.connect(watch);
  watch();
}

/** What a widget that shows a file has; others lack some of it. */
interface FileWidget {
  readonly context: { readonly path?: string };
  readonly content: { readonly editor?: Editor };
}

function follow(
  where: Pick<CursorPlace, "cell_id" | "file">,
  editor: Editor,
): () => void {
  const { changed } = editor.model.selections;
  let told = "";
  const tell = () => {
    if (!editor.hasFocus()) return; // what was lit stays while the user looks at it
    const { line } = editor.getCursorPosition();
    const text = editor.getLine(line) ?? "";
    if (told === `${line} ${text}`) return;
    told = `${line} ${text}`;
    tellCursor({ ...where, line: line + 1, text });
  };
  changed.connect(tell);
  tell();
  return () => void changed.disconnect(tell);
}
