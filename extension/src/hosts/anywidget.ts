// The host of a notebook widget: the snapshot lies in a model that the kernel keeps.
import { mount } from "../app.js";
import type { PageApi } from "./model.js";
import { CELL_OPTIONS, followModel, readModel, revealIn } from "./notebook.js";

/** Show a model's snapshots inside `el`; the answer removes the view. */
export const widget: PageApi["widget"] = ({ model, el }) => {
  const transport = {
    initial: readModel(model),
    onSnapshot: followModel.bind(null, model),
    ...revealIn(el),
  };
  return mount(el, transport, CELL_OPTIONS).dispose;
};
