// Mounts the view in a shadow root and connects it to a transport.
import { h, render } from "preact";
import { watchAmbientTheme } from "./panel/ambient-theme.js";
import type { AppContext } from "./panel/context.js";
import { Shell } from "./panel/shell.js";
import {
  receiveSnapshot,
  reportProblem,
  setAmbientTheme,
  setTheme,
  setWidth,
} from "./state/actions.js";
import { createStore } from "./state/store.js";
import type { Transport } from "./state/transport.js";
import type { ThemeChoice } from "./state/ui.js";
import { styles } from "./styles/index.js";

export type { RevealTarget, Transport } from "./state/transport.js";

export interface MountOptions {
  /** CSS height of the view; a notebook cell needs a fixed one. */
  readonly height?: string;
  /** The theme to start with; "auto" follows the notebook or the system. */
  readonly theme?: ThemeChoice;
  /** The page holds nothing else: shortcuts work wherever the focus is. */
  readonly ownsPage?: boolean;
}

export interface Mounted {
  dispose(): void;
}

const DEFAULT_HEIGHT = "600px";

/** Show the snapshots of a transport inside `el` until disposed.
 *
 * A failing transport is shown as one sentence; mount itself does not throw for it. */
export function mount(
  el: HTMLElement,
  transport: Transport,
  options: MountOptions = {},
): Mounted {
  const lifetime = new AbortController();
  const host = el.ownerDocument.createElement("div");
  host.style.height = options.height ?? DEFAULT_HEIGHT;
  // JupyterLab listens for its shortcuts before the view can; this keeps them apart.
  host.dataset.lmSuppressShortcuts = "true";
  const shadow = host.attachShadow({ mode: "open" });
  const style = el.ownerDocument.createElement("style");
  style.textContent = styles;
  const root = el.ownerDocument.createElement("div");
  root.className = "root";
  shadow.append(style, root);
  el.append(host);

  const store = createStore();
  if (options.theme !== undefined) setTheme(store, options.theme);
  setWidth(store, host.clientWidth);
  watchAmbientTheme(el.ownerDocument, lifetime.signal, (theme) =>
    setAmbientTheme(store, theme),
  );
  const app: AppContext = {
    store,
    view: { current: null },
    reveal: transport.reveal?.bind(transport) ?? null,
    ownsPage: options.ownsPage ?? false,
  };
  render(h(Shell, { app }), root);

  const { signal } = lifetime;
  let updated = false; // a later snapshot may overtake a slow first one
  const stop = transport.onSnapshot?.((snapshot) => {
    updated = true;
    if (!signal.aborted) receiveSnapshot(store, snapshot);
  });
  transport.initial.then(
    (snapshot) => {
      if (!signal.aborted && !updated) receiveSnapshot(store, snapshot);
    },
    (error: unknown) => {
      if (!signal.aborted && !updated) reportProblem(store, error);
    },
  );
  return {
    dispose() {
      if (signal.aborted) return;
      lifetime.abort();
      stop?.();
      render(null, root);
      host.remove();
    },
  };
}
