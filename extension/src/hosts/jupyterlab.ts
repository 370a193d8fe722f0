// The JupyterLab plugin: outputs without a kernel, a side panel, commands, links to code.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { INotebookTracker } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { addCommands } from "./jupyterlab-commands.js";
import { watchCursor, watchFiles } from "./jupyterlab-cursor.js";
import { MIME, OutputRenderer } from "./jupyterlab-output.js";
import { GraphPanel } from "./jupyterlab-panel.js";
import { REVEAL_EVENT, REVEAL_MARK } from "./notebook.js";

// Below -10, the rank of ipywidgets' own view, which is only an error without a kernel.
const RANK = -20;
const PANEL_RANK = 900; // below JupyterLab's own side panels

export default {
  id: "gradviz:plugin",
  description: "Shows autograd graphs that gradviz recorded.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker, ICommandPalette],
  activate(
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null,
  ): void {
    const panel = new GraphPanel();
    app.shell.add(panel, "right", { rank: PANEL_RANK });
    rendermime.addFactory(
      {
        safe: true, // text of a snapshot never enters the page as HTML
        mimeTypes: [MIME],
        createRenderer: () => new OutputRenderer((output) => panel.offer(output)),
      },
      RANK,
    );
    if (notebooks === null) return;
    addCommands(app, notebooks, panel, palette);
    watchCursor(notebooks);
    watchFiles(app);
    document.documentElement.dataset[REVEAL_MARK] = "";
    document.addEventListener(REVEAL_EVENT, (event) => {
      const place = (event as CustomEvent<Readonly<Record<string, unknown>>>).detail;
      void app.commands.execute("gradviz:reveal", place);
    });
  },
};
