// Mounts the real view in jsdom with a graph view that records its commands.
import { act } from "preact/test-utils";
import { afterEach, vi } from "vitest";
import { type Mounted, type MountOptions, mount } from "../app.js";
import type { Snapshot } from "../ir/types.js";
import type { KernelLink, Services } from "../state/kernel.js";
import { convolution } from "../state/snapshots.test-util.js";
import type { Transport } from "../state/transport.js";
import { type FakeView, views } from "./fake-view.test-util.js";

export interface App {
  readonly root: ShadowRoot;
  readonly mounted: Mounted;
  /** The graph view; there is none where the snapshot has no node but findings. */
  readonly view: FakeView;
  /** The one element with a data-testid. */
  find(testId: string): HTMLElement;
  /** Definition list as a plain record: {Shape: "(8,)"}. */
  facts(testId: string): Record<string, string>;
  press(key: string, target?: Element): Promise<void>;
  click(target: Element | null | undefined): Promise<void>;
  type(target: Element, value: string): Promise<void>;
}

const opened: App[] = [];

afterEach(() => {
  for (const app of opened.splice(0)) app.mounted.dispose();
  views.length = 0;
});

/** Select a node as a click on the canvas does. */
export function select(app: App, node: number): Promise<void> {
  return during(() => app.view.events.onSelect(node));
}

/** A view with a kernel that keeps what it is asked, and offers what the test lets it. */
export async function showWithKernel(services: Omit<Services, "answered">) {
  const sent: Parameters<KernelLink["ask"]>[0][] = [];
  let tell: (services: Services, alive: boolean) => void = () => {};
  const kernel: KernelLink = {
    ask: (request) => void sent.push(request),
    follow(callback) {
      tell = callback;
      callback({ answered: 0, ...services }, true);
      return () => {};
    },
  };
  const app = await show({ initial: Promise.resolve(convolution()), kernel });
  const say = (next: Services, alive = true) => during(() => tell(next, alive));
  return { app, sent, say };
}

export function buttonNamed(app: App, name: string): Element | null {
  return app.root.querySelector(`button[aria-label="${name}"]`);
}

/** Mount a snapshot or a transport; the view is disposed after the test. */
export async function show(
  transport: Transport | Snapshot,
  options?: MountOptions,
): Promise<App> {
  const el = document.createElement("div");
  document.body.append(el);
  const given = "initial" in transport;
  const source = given ? transport : { initial: Promise.resolve(transport) };
  const earlier = views.length;
  const mounted = await during(() => mount(el, source, options));
  const root = el.firstElementChild?.shadowRoot;
  if (!root) throw new Error("The view did not mount.");
  const find = (testId: string) => {
    const element = root.querySelector<HTMLElement>(`[data-testid="${testId}"]`);
    if (element === null) throw new Error(`No element ${testId}: ${root.textContent}`);
    return element;
  };
  const app: App = {
    root,
    mounted,
    get view() {
      const view = views[earlier];
      if (view === undefined) throw new Error("There is no graph view.");
      return view;
    },
    find,
    facts: (testId) =>
      Object.fromEntries(
        [...find(testId).querySelectorAll("dt")].map((term) => [
          term.textContent,
          term.nextElementSibling?.textContent ?? "",
        ]),
      ),
    press: (key, target = find("graph")) =>
      during(() => {
        const event = { key, bubbles: true, composed: true, cancelable: true };
        target.dispatchEvent(new KeyboardEvent("keydown", event));
      }),
    click: (target) =>
      during(() => {
        if (!(target instanceof HTMLElement)) throw new Error("Nothing to click.");
        target.click();
      }),
    type: (target, value) =>
      during(() => {
        Object.assign(target, { value });
        const kind = target instanceof HTMLSelectElement ? "change" : "input";
        target.dispatchEvent(new Event(kind, { bubbles: true }));
      }),
  };
  opened.push(app);
  return app;
}

/** Run a step and let promises, renders and effects that follow from it settle. */
export async function during<Result>(step: () => Result): Promise<Result> {
  let result: Result | undefined;
  await act(async () => {
    result = step();
    await vi.waitFor(() => Promise.resolve());
  });
  return result as Result;
}
