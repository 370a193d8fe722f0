// Tells the views of the page where the cursor stands in the notebook's code.
import type { Cell, Editor, INotebookTracker } from "@jupyterlab/notebook";
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
      stop = follow(cell, cell.editor);
    });
  };
  notebooks.activeCellChanged.connect(watch);
  watch(notebooks, notebooks.activeCell);
}

function follow(cell: Cell, editor: Editor): () => void {
  const { changed } = editor.model.selections;
  let told = "";
  const tell = () => {
    if (!editor.hasFocus()) return; // what was lit stays while the user looks at it
    const { line } = editor.getCursorPosition();
    const text = editor.getLine(line) ?? "";
    if (told === `${line} ${text}`) return;
    told = `${line} ${text}`;
    tellCursor({ cell_id: cell.model.id, file: null, line: line + 1, text });
  };
  changed.connect(tell);
  tell();
  return () => void changed.disconnect(tell);
}
