// The side panel: the graph that was shown last, docked beside the notebook.
import { LabIcon } from "@jupyterlab/ui-components";
import { Widget } from "@lumino/widgets";
import { type Mounted, mount } from "../app.js";
import type { Output } from "./jupyterlab-output.js";

const NOTHING =
  "Nothing was shown yet: run a cell that begins with %%gradviz, or choose “Show the " +
  "graph of the selected variable” in the command palette.";
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16" height="16">' +
  '<g class="jp-icon3 jp-icon-selectable" fill="none" stroke="#616161" stroke-width="1.4">' +
  '<circle cx="8" cy="3.6" r="1.9"/><circle cx="3.8" cy="12.2" r="1.9"/>' +
  '<circle cx="12.2" cy="12.2" r="1.9"/><path d="M7.2 5.4 4.7 10.4M8.8 5.4l2.5 5"/></g></svg>';

export class GraphPanel extends Widget {
  #latest: Output | undefined;
  #shown: Output | undefined;
  #mounted: Mounted | undefined;

  constructor() {
    super();
    this.id = "gradviz-panel";
    this.title.icon = new LabIcon({ name: "gradviz:graph", svgstr: ICON });
    this.title.caption = "gradviz: the graph that was shown last";
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "gradviz");
    this.node.style.minWidth = "320px";
    this.node.style.overflow = "hidden";
    this.node.append(note(NOTHING));
  }

  /** Show an output, now or when the panel is opened. */
  offer(output: Output): void {
    this.#latest = output;
    if (this.isVisible) this.#refresh();
  }

  protected override onAfterShow(): void {
    this.#refresh();
  }

  #refresh(): void {
    if (this.#latest === undefined || this.#latest === this.#shown) return;
    this.#mounted?.dispose();
    this.node.replaceChildren();
    this.#shown = this.#latest;
    this.#mounted = mount(this.node, this.#latest(this.node), { height: "100%" });
  }

  override dispose(): void {
    this.#mounted?.dispose();
    super.dispose();
  }
}

function note(text: string): HTMLElement {
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  paragraph.style.cssText = "margin: 16px; color: var(--jp-ui-font-color1)";
  return paragraph;
}
