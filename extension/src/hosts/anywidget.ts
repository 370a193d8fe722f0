// The host of a notebook widget: the snapshot lies in a model that the kernel keeps.
import { mount } from "../app.js";
import { linkTo } from "./kernel.js";
import { MODULE_END, type PageApi } from "./model.js";
import {
  CELL_OPTIONS,
  followCursor,
  followModel,
  readModel,
  revealIn,
} from "./notebook.js";

/** Show a model's snapshots inside `el`; the answer removes the view. */
export const widget: PageApi["widget"] = ({ model, el }) => {
  const transport = {
    initial: readModel(model),
    onSnapshot: followModel.bind(null, model),
    kernel: linkTo(model),
    onCursor: followCursor,
    ...revealIn(el),
    bundle: ownBundle,
  };
  return mount(el, transport, CELL_OPTIONS).dispose;
};

/** The script that this very code is part of. */
async function ownBundle(): Promise<string> {
  const { gradviz } = globalThis as { gradviz?: PageApi };
  const response = await fetch(gradviz?.source ?? "");
  const [script = ""] = (await response.text()).split(MODULE_END);
  return script;
}
