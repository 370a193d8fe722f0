// What every panel can reach: the store, the graph view's commands, the host's wishes.
import "@preact/signals"; // lets components follow the signals that they read
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { GraphView } from "../render/graph-view.js";
import type { KernelRequest } from "../state/kernel.js";
import type { Store } from "../state/store.js";
import type { RevealTarget } from "../state/transport.js";

export interface AppContext {
  readonly store: Store;
  /** The live graph view; null before it is mounted and after it failed. */
  readonly view: { current: GraphView | null };
  /** Opens a place in the host's editor; null where the host has none. */
  readonly reveal: ((target: RevealTarget) => void) | null;
  /** The address of this view; null where the page is not ours. */
  readonly link: (() => string) | null;
  /** The viewer's own script, to put into a page; null where the host cannot tell it. */
  readonly bundle: (() => Promise<string>) | null;
  /** Asks the kernel for something; null where there is none. */
  readonly ask: ((request: KernelRequest) => void) | null;
  /** Whether the whole page is ours, so that keys pressed anywhere in it count. */
  readonly ownsPage: boolean;
}

const Context = createContext<AppContext | null>(null);

export const AppProvider = Context.Provider;

export function useApp(): AppContext {
  const app = useContext(Context);
  if (app === null) throw new Error("A panel was rendered outside of AppProvider.");
  return app;
}

export function useStore(): Store {
  return useApp().store;
}
