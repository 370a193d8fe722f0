// Scrolls to a place in a cell, or opens the file, and marks the expression in its editor.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Notification } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import type { Editor, INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Site } from "../ir/types.js";
import { pathInServer } from "./server-path.js";

/** The detail of a `gradviz:reveal` event: lines and columns count from 1. */
export type Place = Pick<
  Site,
  "file" | "line" | "end_line" | "column" | "end_column"
> & { readonly cell_id: string | null };

const CLOSE_AFTER_MS = 6000;

/** Show a place; where that cannot be done, a sentence says why. */
export async function reveal(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  place: Place,
): Promise<void> {
  const isDone =
    place.cell_id === null
      ? await revealFile(app, place)
      : await revealCell(app, notebooks, place, place.cell_id);
  if (!isDone) Notification.info(whyNot(place), { autoClose: CLOSE_AFTER_MS });
}

function whyNot({ cell_id, file }: Place): string {
  return cell_id === null
    ? `${file} lies outside of the folder that Jupyter shows; the inspector has its text.`
    : "No open notebook has that cell any more; the inspector has its text.";
}

async function revealCell(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  place: Place,
  id: string,
): Promise<boolean> {
  const indexIn = ({ content }: NotebookPanel) =>
    content.widgets.findIndex(({ model }) => model.id === id);
  const panel = notebooks.find((candidate) => indexIn(candidate) >= 0);
  if (panel === undefined) return false;
  const index = indexIn(panel);
  app.shell.activateById(panel.id);
  panel.content.activeCellIndex = index;
  await panel.content.scrollToItem(index, "smart");
  const cell = panel.content.widgets[index];
  await cell?.ready;
  if (cell?.editor) mark(cell.editor, place);
  return true;
}

interface FileWidget {
  readonly revealed?: Promise<void>;
  readonly context?: { readonly ready: Promise<void> };
  readonly content?: { readonly editor?: Editor };
}

async function revealFile(app: JupyterFrontEnd, place: Place): Promise<boolean> {
  const path = pathInServer(place.file, PageConfig.getOption("serverRoot"));
  if (path === null || !(await exists(app, path))) return false;
  const opened = await app.commands.execute("docmanager:open", { path });
  const widget = opened as FileWidget | undefined;
  await widget?.context?.ready;
  await widget?.revealed;
  const editor = widget?.content?.editor;
  if (editor) mark(editor, place);
  return true;
}

async function exists(app: JupyterFrontEnd, path: string): Promise<boolean> {
  try {
    await app.serviceManager.contents.get(path, { content: false });
    return true;
  } catch {
    return false;
  }
}

/** Select the expression; where the text was edited since, whatever stands there now. */
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
