// One output of a notebook: the saved snapshot, and what its widget sends while it lives.
import type { MimeModel } from "@jupyterlab/rendermime";
import { Widget } from "@lumino/widgets";
import { type Mounted, mount } from "../app.js";
import { parseSnapshot } from "../ir/parse.js";
import type { Transport } from "../state/transport.js";
import { linkToKey } from "./kernel.js";
import { page } from "./model.js";
import { CELL_OPTIONS, followCursor, followKey, revealIn } from "./notebook.js";

export const MIME = "application/vnd.gradviz+json";
const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

/** What shows an output inside of an element, here or beside the notebook. */
export type Output = (el: HTMLElement) => Transport;

function keyOf(data: MimeModel["data"]): string | undefined {
  return (data[WIDGET_MIME] as { readonly model_id?: string } | undefined)?.model_id;
}

export function outputOf(data: MimeModel["data"]): Output {
  const key = keyOf(data);
  return (el) => ({
    initial: Promise.resolve(data[MIME]).then(parseSnapshot),
    onSnapshot: followKey.bind(null, key),
    kernel: linkToKey(key),
    onCursor: followCursor,
    bundle: pageBundle,
    ...revealIn(el),
  });
}

/** The page's script lies beside the plugin's. */
async function pageBundle(): Promise<string> {
  const response = await fetch(new URL(gradvizBundle, gradvizScript ?? location.href));
  if (!response.ok) throw new Error("the page's script is not there");
  return response.text();
}

export class OutputRenderer extends Widget {
  #mounted: Mounted | undefined;
  #key: string | undefined;
  readonly #tell: (output: Output) => void;

  /** `tell` hears of every output that is shown. */
  constructor(tell: (output: Output) => void) {
    super();
    this.#tell = tell;
  }

  async renderModel({ data }: MimeModel): Promise<void> {
    const key = keyOf(data);
    // The output was saved anew; what it says has come from the living widget before.
    if (this.#mounted && key === this.#key && page.gradvizModels?.has(key)) return;
    this.#mounted?.dispose();
    this.#key = key;
    const output = outputOf(data);
    this.#mounted = mount(this.node, output(this.node), CELL_OPTIONS);
    this.#tell(output);
  }

  override dispose(): void {
    this.#mounted?.dispose();
    super.dispose();
  }
}
