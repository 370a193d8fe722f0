// Requests to the kernel behind a widget's model, and what it offers.
import type { KernelLink, Services } from "../state/kernel.js";
import {
  KEY_TRAIT,
  MODEL_EVENT,
  page,
  SERVICES_TRAIT,
  type WidgetModel,
} from "./model.js";

/** What ipywidgets tells when the connection of a model comes or goes. */
const CONNECTION_EVENTS = ["comm_live_update", "comm:close", "destroy"];

/** Tells whether the kernel of a model is there, as far as the host knows.
 *
 * A model that the host knew and knows no more was closed. One that it never knew by our
 * key, as where models have other ids, is taken to live. */
function watchLife(model: WidgetModel): () => Promise<boolean> {
  let wasKnown = false;
  return async () => {
    try {
      const key = String(model.get(KEY_TRAIT));
      const known = await model.widget_manager?.get_model?.(key);
      wasKnown = known !== undefined;
      return known?.comm_live !== false;
    } catch {
      return !wasKnown;
    }
  };
}

/** The link of a model; requests are custom messages. */
export function linkTo(model: WidgetModel): KernelLink {
  let refused = false; // a kernel that was shut down is told by nothing else
  const followers = new Set<() => void>();
  const isAlive = watchLife(model);
  return {
    ask(request) {
      try {
        model.send(request);
      } catch {
        refused = true;
        for (const heard of followers) heard();
      }
    },
    follow(callback) {
      const lifetime = new AbortController();
      const tell = async () => {
        const alive = !refused && (await isAlive());
        const services = model.get(SERVICES_TRAIT) as Services | null | undefined;
        if (!lifetime.signal.aborted && services) callback(services, alive);
      };
      const heard = () => void tell();
      const events = [`change:${SERVICES_TRAIT}`, ...CONNECTION_EVENTS];
      for (const event of events) model.on(event, heard);
      followers.add(heard);
      heard();
      return () => {
        lifetime.abort();
        followers.delete(heard);
        for (const event of events) model.off(event, heard);
      };
    },
  };
}

/** The link of a widget by its key, from the moment the page knows its model. */
export function linkToKey(key: unknown): KernelLink {
  let link: KernelLink | undefined;
  return {
    ask: (request) => link?.ask(request),
    follow: (callback) =>
      whenKnown(key, (model) => {
        link ??= linkTo(model);
        return link.follow(callback);
      }),
  };
}

/** Connect to a model once the page knows it; the answer undoes that. */
export function whenKnown(
  key: unknown,
  connect: (model: WidgetModel) => () => void,
): () => void {
  const lifetime = new AbortController();
  let stop: (() => void) | undefined;
  const look = () => {
    const model = page.gradvizModels?.get(key);
    if (model === undefined) return;
    document.removeEventListener(MODEL_EVENT, look);
    stop = connect(model);
  };
  document.addEventListener(MODEL_EVENT, look, { signal: lifetime.signal });
  look();
  return () => {
    lifetime.abort();
    stop?.();
  };
}
