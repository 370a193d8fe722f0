// The kernel's side of a widget as the page sees it, and what the page shares about it.
import type { CursorPlace } from "../state/lit.js";

/** The part of anywidget's model that gradviz uses. */
export interface WidgetModel {
  get(trait: string): unknown;
  on(event: string, callback: ModelCallback): void;
  off(event: string, callback: ModelCallback): void;
  send(content: unknown): void;
  /** Knows the model behind this one, where the host is ipywidgets. */
  readonly widget_manager?: {
    get_model?(id: string): Promise<{ readonly comm_live?: boolean }>;
  };
}

export type ModelCallback = (content?: unknown, buffers?: readonly DataView[]) => void;

/** The traits of gradviz/widget.py; the snapshot is columns in a zlib stream. */
export const SNAPSHOT_TRAIT = "_snapshot";
export const REVISION_TRAIT = "_revision";
export const SERVICES_TRAIT = "_services";
export const KEY_TRAIT = "_key";
export const BUNDLE_TRAIT = "_bundle";

/** Told to the document whenever a model joined `gradvizModels`. */
export const MODEL_EVENT = "gradviz:model";

/** Where what gradviz/widget.py adds to the bundle begins. */
export const MODULE_END = "\nglobalThis.gradviz.source";

/** What the page bundle leaves behind in the page. */
export interface PageApi {
  widget(props: { model: WidgetModel; el: HTMLElement }): () => void;
  /** The address of the bundle in this page, with MODULE_END behind it. */
  source?: string;
}

/** One bundle of this page: who waits for it, and when a kernel was last asked. */
export interface BundleRequest {
  readonly loaded: Promise<PageApi>;
  readonly arrive: (api: PageApi | Promise<PageApi>) => void;
  askedAt: number;
}

export interface PageGlobals {
  /** By digest: notebooks with several versions of gradviz can share a page. */
  gradvizBundles?: Record<string, BundleRequest>;
  /** Every living widget of the page by its key, also those that are not displayed. */
  gradvizModels?: Map<unknown, WidgetModel>;
  /** Where the cursor of the page's editor stands. */
  gradvizCursor?: CursorPlace;
}

export const page = globalThis as PageGlobals;
