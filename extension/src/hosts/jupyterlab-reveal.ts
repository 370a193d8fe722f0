// Scrolls a JupyterLab notebook to a cell and marks the place in its editor.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { Editor, INotebookTracker } from "@jupyterlab/notebook";
import type { Site } from "../ir/types.js";

/** The detail of a `gradviz:reveal` event: lines and columns count from 1. */
export type Place = Pick<
  Site,
  "file" | "line" | "end_line" | "column" | "end_column"
> & { readonly cell_id: string | null };

/** Show the cell of a place; nothing happens where no open notebook has it. */
export async function reveal(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  place: Place,
): Promise<void> {
  const indexIn = (panel: Parameters<Parameters<INotebookTracker["find"]>[0]>[0]) =>
    panel.content.widgets.findIndex(({ model }) => model.id === place.cell_id);
  if (place.cell_id === null) return;
  const panel = notebooks.find((candidate) => indexIn(candidate) >= 0);
  if (panel === undefined) return;
  const index = indexIn(panel);
  app.shell.activateById(panel.id);
  panel.content.activeCellIndex = index;
  await panel.content.scrollToItem(index, "smart");
  const cell = panel.content.widgets[index];
  await cell?.ready;
  if (cell?.editor) mark(cell.editor, place);
}

/** Select the expression; of a cell that was edited since, whatever stands there now. */
function mark(editor: Editor, place: Place): void {
  const position = (line: number, column: number | null) => {
    const row = Math.min(line, editor.lineCount) - 1;
    const length = editor.getLine(row)?.length ?? 0;
    return { line: row, column: Math.min((column ?? length + 1) - 1, length) };
  };
  const range = {
    start: position(place.line, place.column ?? 1),
    end: position(place.end_line, place.end_column),
  };
  editor.focus();
  editor.setSelection(range);
  editor.revealSelection(range);
}
