// Mounts the view in a shadow root and connects it to a transport.
import { effect } from "@preact/signals-core";
import { h, render } from "preact";
import { watchAmbientTheme } from "./panel/ambient-theme.js";
import { keepBookmarks } from "./panel/bookmarking.js";
import type { AppContext } from "./panel/context.js";
import { watchHold } from "./panel/hold.js";
import { Shell } from "./panel/shell.js";
import {
  allowCard,
  receiveSnapshot,
  reportProblem,
  setAmbientTheme,
  setTheme,
  setWidth,
} from "./state/actions.js";
import { setHeld, standInCell } from "./state/actions-cell.js";
import { followHistory } from "./state/actions-history.js";
import { askKernel, receiveServices } from "./state/actions-kernel.js";
import { followCursor } from "./state/actions-lit.js";
import { receiveDelta, receiveProgress } from "./state/actions-live.js";
import { followSteps } from "./state/actions-steps.js";
import { createStore, type Store } from "./state/store.js";
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
  /** One output among others: the wheel is the view's only after a click into it. */
  readonly inCell?: boolean;
  /** A failure stands as a card at first, as high as it needs. */
  readonly cardFirst?: boolean;
}

export interface Mounted {
  dispose(): void;
}

const DEFAULT_HEIGHT = "600px";

/** An element of the given height whose inside the page's own style cannot reach. */
function createHost(page: Document, height: string) {
  const host = page.createElement("div");
  host.style.height = height;
  // JupyterLab listens for its shortcuts before the view can; this keeps them apart.
  host.dataset.lmSuppressShortcuts = "true";
  const style = page.createElement("style");
  style.textContent = styles;
  const root = page.createElement("div");
  root.className = "root";
  host.attachShadow({ mode: "open" }).append(style, root);
  return { host, root };
}

/** Feed the store from a transport until the signal. */
function connect(store: Store, transport: Transport, signal: AbortSignal): void {
  let updated = false; // a later snapshot may overtake a slow first one
  const stop = transport.onSnapshot?.(
    (snapshot) => {
      updated = true;
      if (!signal.aborted) receiveSnapshot(store, snapshot);
    },
    receiveDelta.bind(null, store),
    receiveProgress.bind(null, store),
  );
  if (stop !== undefined) signal.addEventListener("abort", stop);
  const forget = transport.kernel?.follow(receiveServices.bind(null, store));
  if (forget !== undefined) signal.addEventListener("abort", forget);
  const unfollow = transport.onCursor?.((place) => followCursor(store, place));
  if (unfollow !== undefined) signal.addEventListener("abort", unfollow);
  transport.initial.then(
    (snapshot) => {
      if (!signal.aborted && !updated) receiveSnapshot(store, snapshot);
    },
    (error: unknown) => {
      if (!signal.aborted && !updated) reportProblem(store, error);
    },
  );
}

/** Show the snapshots of a transport inside `el` until disposed.
 *
 * A failing transport is shown as one sentence; mount itself does not throw for it. */
export function mount(
  el: HTMLElement,
  transport: Transport,
  options: MountOptions = {},
): Mounted {
  const lifetime = new AbortController();
  const page = el.ownerDocument;
  const height = options.height ?? DEFAULT_HEIGHT;
  const { host, root } = createHost(page, height);
  el.append(host);

  const store = createStore();
  if (options.cardFirst) allowCard(store);
  if (options.inCell) {
    standInCell(store);
    watchHold(host, lifetime.signal, (held) => setHeld(store, held));
  }
  const stopSizing = effect(() => {
    host.style.height = store.ui.card.value ? "auto" : height;
  });
  const stopHistory = followHistory(store);
  const stopSteps = followSteps(store);
  setTheme(store, options.theme ?? "auto");
  setWidth(store, host.clientWidth);
  watchAmbientTheme(page, lifetime.signal, (theme) => setAmbientTheme(store, theme));
  const app: AppContext = {
    store,
    view: { current: null },
    ask: transport.kernel ? askKernel.bind(null, store, transport.kernel) : null,
    reveal: transport.reveal?.bind(transport) ?? null,
    link: transport.bookmarks?.link ?? null,
    bundle: transport.bundle?.bind(transport) ?? null,
    ownsPage: options.ownsPage ?? false,
  };
  render(h(Shell, { app }), root);
  connect(store, transport, lifetime.signal);
  const { bookmarks } = transport;
  if (bookmarks !== undefined) keepBookmarks(store, bookmarks, lifetime.signal);
  return {
    dispose() {
      if (lifetime.signal.aborted) return;
      lifetime.abort();
      stopSizing();
      stopHistory();
      stopSteps();
      render(null, root);
      host.remove();
    },
  };
}
