// The JupyterLab plugin: shows graphs in saved notebooks too, where no kernel is left.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { INotebookTracker } from "@jupyterlab/notebook";
import { IRenderMimeRegistry, type MimeModel } from "@jupyterlab/rendermime";
import { Widget } from "@lumino/widgets";
import { type Mounted, mount } from "../app.js";
import { parseSnapshot } from "../ir/parse.js";
import { type Place, reveal } from "./jupyterlab-reveal.js";
import { linkToKey } from "./kernel.js";
import {
  CELL_OPTIONS,
  followKey,
  REVEAL_EVENT,
  REVEAL_MARK,
  revealIn,
} from "./notebook.js";

const MIME = "application/vnd.gradviz+json";
const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";
// Below -10, the rank of ipywidgets' own view, which is only an error without a kernel.
const RANK = -20;

/** One output: the saved snapshot at once, then what its widget sends while it lives. */
class SnapshotRenderer extends Widget {
  #mounted: Mounted | undefined;

  async renderModel({ data }: MimeModel): Promise<void> {
    this.#mounted?.dispose();
    const view = data[WIDGET_MIME] as { readonly model_id?: string } | undefined;
    const transport = {
      initial: Promise.resolve(data[MIME]).then(parseSnapshot),
      onSnapshot: followKey.bind(null, view?.model_id),
      kernel: linkToKey(view?.model_id),
      ...revealIn(this.node),
    };
    this.#mounted = mount(this.node, transport, CELL_OPTIONS);
  }

  override dispose(): void {
    this.#mounted?.dispose();
    super.dispose();
  }
}

export default {
  id: "gradviz:plugin",
  description: "Shows autograd graphs that gradviz recorded.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker],
  activate(
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    notebooks: INotebookTracker | null,
  ): void {
    rendermime.addFactory(
      {
        safe: true, // text of a snapshot never enters the page as HTML
        mimeTypes: [MIME],
        createRenderer: () => new SnapshotRenderer(),
      },
      RANK,
    );
    if (notebooks === null) return;
    document.documentElement.dataset[REVEAL_MARK] = "";
    document.addEventListener(REVEAL_EVENT, (event) => {
      void reveal(app, notebooks, (event as CustomEvent<Place>).detail);
    });
  },
};
