// The anywidget module: makes the model known and fetches the view once a page. Every
// widget syncs this text with its kernel, so it stays under 1 kB.
import {
  BUNDLE_TRAIT,
  type BundleRequest,
  KEY_TRAIT,
  MODEL_EVENT,
  type ModelCallback,
  type PageApi,
  page,
  type WidgetModel,
} from "./model.js";

// A kernel that was restarted never answers: after this long the next widget asks again.
const PATIENCE_MS = 3000;

function requestOf(digest: string): BundleRequest {
  page.gradvizBundles ??= {};
  const bundles = page.gradvizBundles;
  let arrive: BundleRequest["arrive"] = () => {};
  const loaded = new Promise<PageApi>((resolve) => {
    arrive = resolve;
  });
  bundles[digest] ??= { loaded, arrive, askedAt: 0 };
  return bundles[digest];
}

export default {
  initialize({ model }: { model: WidgetModel }) {
    page.gradvizModels ??= new Map();
    const models = page.gradvizModels;
    const key = model.get(KEY_TRAIT);
    models.set(key, model);
    document.dispatchEvent(new Event(MODEL_EVENT));
    return () => {
      models.delete(key);
    };
  },

  render({ model, el }: { model: WidgetModel; el: HTMLElement }) {
    const request = requestOf(String(model.get(BUNDLE_TRAIT)));
    let dispose: (() => void) | undefined;
    let closed = false;
    const receive: ModelCallback = (content, buffers) => {
      const { error } = content as { readonly error?: string };
      const [text] = buffers ?? [];
      if (error) el.textContent = error;
      else if (text) {
        const blob = new Blob([text as BlobPart], { type: "text/javascript" });
        const url = URL.createObjectURL(blob);
        request.askedAt = Number.POSITIVE_INFINITY; // nobody needs to ask again
        request.arrive(import(url).then((module) => module.default as PageApi));
      }
    };
    model.on("msg:custom", receive);
    request.loaded
      .then((api) => {
        if (!closed) dispose = api.widget({ model, el });
      })
      .catch((error) => {
        el.textContent = `gradviz: ${error}`; // the page forbids the script
      });
    const now = Date.now();
    if (now - request.askedAt > PATIENCE_MS) {
      request.askedAt = now;
      model.send("bundle");
    }
    return () => {
      closed = true;
      model.off("msg:custom", receive);
      dispose?.();
    };
  },
};
