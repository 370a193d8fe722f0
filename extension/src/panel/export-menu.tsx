// The menu of the toolbar that writes files of what is shown.
import { setNotice } from "../state/actions-notice.js";
import { useApp } from "./context.js";
import { ExportIcon } from "./icons.js";
import { Menu, type MenuItem } from "./menu.js";
import { formsFor, saveFile } from "./save.js";

export function ExportMenu() {
  const app = useApp();
  const save = (form: Parameters<typeof saveFile>[1]) =>
    saveFile(app, form).then(
      (name) => setNotice(app.store, `Saved ${name}.`),
      (error: unknown) => setNotice(app.store, sentenceOf(error)),
    );
  const items: MenuItem[] = formsFor(app).map((form) => ({
    id: form.form,
    title: form.title,
    onChoose: () => void save(form),
  }));
  const { link } = app;
  if (link !== null) {
    const onChoose = () => void copy(link()).then((said) => setNotice(app.store, said));
    items.push({ id: "link", title: "Copy link to this view", onChoose });
  }
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

/** Put an address where the user can paste it from; else show it. */
async function copy(address: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(address);
    return "The link to this view was copied.";
  } catch {
    return `The link to this view: ${address}`;
  }
}
