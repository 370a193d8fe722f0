// The menu of the toolbar that writes files of what is shown.
import { setNotice } from "../state/actions-notice.js";
import { useApp } from "./context.js";
import { ExportIcon } from "./icons.js";
import { Menu } from "./menu.js";
import { formsFor, saveFile } from "./save.js";

export function ExportMenu() {
  const app = useApp();
  const save = (form: Parameters<typeof saveFile>[1]) =>
    saveFile(app, form).then(
      (name) => setNotice(app.store, `Saved ${name}.`),
      (error: unknown) => setNotice(app.store, sentenceOf(error)),
    );
  const items = formsFor(app).map((form) => ({
    id: form.form,
    title: form.title,
    onChoose: () => void save(form),
  }));
  return (
    <Menu label="Export" items={items} testId="export">
      <ExportIcon />
    </Menu>
  );
}

function sentenceOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `The file could not be written: ${reason}`;
}
