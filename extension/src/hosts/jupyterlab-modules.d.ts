// The few parts of JupyterLab's API that the plugin touches. JupyterLab brings the code;
// its packages of types would pull in several hundred megabytes.

declare module "@lumino/signaling" {
  export interface Signal<Sender, Args> {
    connect(slot: (sender: Sender, args: Args) => void): boolean;
    disconnect(slot: (sender: Sender, args: Args) => void): boolean;
  }
}

declare module "@lumino/widgets" {
  export class Widget {
    readonly node: HTMLElement;
    readonly isDisposed: boolean;
    readonly isVisible: boolean;
    id: string;
    readonly title: { icon: unknown; caption: string };
    addClass(name: string): void;
    dispose(): void;
    protected onAfterShow(message: unknown): void;
  }
}

declare module "@jupyterlab/ui-components" {
  export class LabIcon {
    constructor(options: { readonly name: string; readonly svgstr: string });
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

declare module "@jupyterlab/services" {
  export interface KernelMessage {
    readonly header: { readonly msg_type: string };
    readonly content: Readonly<Record<string, unknown>>;
  }
  export interface Kernel {
    readonly status: string;
    requestExecute(
      content: {
        readonly code: string;
        readonly store_history: boolean;
        readonly stop_on_error: boolean;
        readonly user_expressions?: Readonly<Record<string, string>>;
      },
      disposeOnDone: boolean,
      metadata: Readonly<Record<string, string>>,
    ): {
      onIOPub: (message: KernelMessage) => void;
      readonly done: Promise<KernelMessage>;
    };
  }
  export interface Contents {
    get(
      path: string,
      options: { readonly content: false },
    ): Promise<{ readonly path: string }>;
  }
}

declare module "@jupyterlab/notebook" {
  import type { Kernel } from "@jupyterlab/services";
  import type { Signal } from "@lumino/signaling";

  interface Position {
    readonly line: number;
    readonly column: number;
  }
  interface Range {
    readonly start: Position;
    readonly end: Position;
  }
  export interface Editor {
    readonly lineCount: number;
    readonly model: {
      readonly selections: { readonly changed: Signal<unknown, unknown> };
    };
    getLine(line: number): string | undefined;
    getCursorPosition(): Position;
    getSelection(): Range;
    setSelection(range: Range): void;
    revealSelection(range: Range): void;
    hasFocus(): boolean;
    focus(): void;
  }
  export interface Cell {
    readonly model: {
      readonly id: string;
      readonly type: string;
      readonly sharedModel: { getSource(): string; setSource(text: string): void };
    };
    readonly ready: Promise<void>;
    readonly editor: Editor | null;
    readonly isDisposed: boolean;
  }
  export interface NotebookPanel {
    readonly id: string;
    readonly context: { readonly path: string };
    readonly sessionContext: {
      readonly session: { readonly kernel: Kernel | null } | null;
    };
    readonly content: {
      readonly widgets: readonly Cell[];
      activeCellIndex: number;
      scrollToItem(index: number, align?: string): Promise<void>;
    };
  }
  export interface INotebookTracker {
    readonly activeCell: Cell | null;
    readonly currentWidget: NotebookPanel | null;
    readonly activeCellChanged: Signal<INotebookTracker, Cell | null>;
    find(predicate: (panel: NotebookPanel) => boolean): NotebookPanel | undefined;
  }
  export const INotebookTracker: unique symbol;
}

declare module "@jupyterlab/application" {
  import type { Contents } from "@jupyterlab/services";
  import type { Signal } from "@lumino/signaling";
  import type { Widget } from "@lumino/widgets";

  export interface Commands {
    addCommand(
      id: string,
      options: {
        readonly label: string;
        readonly caption?: string;
        readonly isEnabled?: () => boolean;
        readonly execute: (args: Readonly<Record<string, unknown>>) => unknown;
        /** What the arguments mean, as a JSON schema. */
        readonly describedBy?: { readonly args: unknown };
      },
    ): void;
    execute(id: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
    hasCommand(id: string): boolean;
  }
  export interface JupyterFrontEnd {
    readonly commands: Commands;
    readonly serviceManager: { readonly contents: Contents };
    readonly shell: {
      add(widget: Widget, area: string, options?: { readonly rank: number }): void;
      readonly currentWidget: unknown;
      readonly currentChanged?: Signal<unknown, unknown>;
      activateById(id: string): void;
    };
  }
}

declare module "@jupyterlab/apputils" {
  export interface ICommandPalette {
    addItem(item: { readonly command: string; readonly category: string }): void;
  }
  export const ICommandPalette: unique symbol;
  export const Notification: {
    error(sentence: string, options: { readonly autoClose: number }): string;
    info(sentence: string, options: { readonly autoClose: number }): string;
  };
}

declare module "@jupyterlab/coreutils" {
  export const PageConfig: { getOption(name: string): string };
}

/** The address of the script that holds the plugin; build.mjs defines it around it. */
declare const gradvizScript: string | null;
/** The name of the page's bundle beside that script. */
declare const gradvizBundle: string;
