// The few parts of JupyterLab's API that the plugin touches. JupyterLab brings the code;
// its packages of types would pull in several hundred megabytes.

declare module "@lumino/widgets" {
  export class Widget {
    readonly node: HTMLElement;
    readonly isDisposed: boolean;
    addClass(name: string): void;
    dispose(): void;
  }
}

declare module "@jupyterlab/rendermime" {
  import type { Widget } from "@lumino/widgets";

  export interface MimeModel {
    readonly data: Readonly<Record<string, unknown>>;
  }
  export interface Renderer extends Widget {
    renderModel(model: MimeModel): Promise<void>;
  }
  export interface RendererFactory {
    readonly safe: boolean;
    readonly mimeTypes: readonly string[];
    createRenderer(options: { readonly mimeType: string }): Renderer;
  }
  export interface IRenderMimeRegistry {
    addFactory(factory: RendererFactory, rank: number): void;
  }
  export const IRenderMimeRegistry: unique symbol;
}

declare module "@jupyterlab/notebook" {
  interface Position {
    readonly line: number;
    readonly column: number;
  }
  export interface Editor {
    readonly lineCount: number;
    getLine(line: number): string | undefined;
    setSelection(range: { readonly start: Position; readonly end: Position }): void;
    revealSelection(range: { readonly start: Position; readonly end: Position }): void;
    focus(): void;
  }
  export interface Cell {
    readonly model: { readonly id: string };
    readonly ready: Promise<void>;
    readonly editor: Editor | null;
  }
  export interface NotebookPanel {
    readonly id: string;
    readonly content: {
      readonly widgets: readonly Cell[];
      activeCellIndex: number;
      scrollToItem(index: number, align?: string): Promise<void>;
    };
  }
  export interface INotebookTracker {
    find(predicate: (panel: NotebookPanel) => boolean): NotebookPanel | undefined;
  }
  export const INotebookTracker: unique symbol;
}

declare module "@jupyterlab/application" {
  export interface JupyterFrontEnd {
    readonly shell: { activateById(id: string): void };
  }
}
