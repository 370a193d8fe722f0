// The toolbar: search, camera, scopes, colours, theme, table, help.
import type { ComponentChildren } from "preact";
import { COLOR_LABELS } from "../graph/color-by.js";
import {
  closeToCard,
  collapseAll,
  expandAll,
  setColorBy,
  setHelp,
  setTheme,
  setViewMode,
} from "../state/actions.js";
import { toggleTools } from "../state/actions-cell.js";
import { rememberGaze } from "../state/actions-history.js";
import type { ThemeChoice } from "../state/ui.js";
import { useApp, useStore } from "./context.js";
import { DrawingTools } from "./drawing-tools.js";
import { ExportMenu } from "./export-menu.js";
import {
  AutoThemeIcon,
  CloseIcon,
  CollapseIcon,
  DarkThemeIcon,
  ExpandIcon,
  FitIcon,
  GraphIcon,
  LightThemeIcon,
  MinusIcon,
  PlusIcon,
  TableIcon,
} from "./icons.js";
import { LabelledSelect } from "./labelled-select.js";
import { SearchBox } from "./search-box.js";

export const ZOOM_STEP = 1.25;

const THEMES: Readonly<
  Record<ThemeChoice, { next: ThemeChoice; Icon: typeof AutoThemeIcon }>
> = {
  auto: { next: "light", Icon: AutoThemeIcon },
  light: { next: "dark", Icon: LightThemeIcon },
  dark: { next: "auto", Icon: DarkThemeIcon },
};

function IconButton({
  label,
  shortcut,
  onClick,
  disabled = false,
  pressed,
  testId,
  children,
}: {
  label: string;
  shortcut?: string;
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
  testId?: string;
  children: ComponentChildren;
}) {
  return (
    <button
      type="button"
      aria-label={label}
      title={shortcut === undefined ? label : `${label} ( ${shortcut} )`}
      aria-pressed={pressed}
      data-testid={testId}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

function CameraButtons({ disabled }: { disabled: boolean }) {
  const { store, view } = useApp();
  const zoom = (factor: number) => () => view.current?.zoomBy(factor);
  return (
    <fieldset class="group" aria-label="Camera">
      <IconButton
        label="Zoom out"
        shortcut="-"
        disabled={disabled}
        onClick={zoom(1 / ZOOM_STEP)}
      >
        <MinusIcon />
      </IconButton>
      <IconButton
        label="Fit the graph"
        shortcut="f"
        disabled={disabled}
        onClick={() => {
          rememberGaze(store);
          view.current?.fit();
        }}
      >
        <FitIcon />
      </IconButton>
      <IconButton
        label="Zoom in"
        shortcut="+"
        disabled={disabled}
        onClick={zoom(ZOOM_STEP)}
      >
        <PlusIcon />
      </IconButton>
    </fieldset>
  );
}

function ScopeButtons({ disabled }: { disabled: boolean }) {
  const store = useStore();
  const none = disabled || (store.data.snapshot.value?.scopes.length ?? 0) === 0;
  return (
    <fieldset class="group" aria-label="Scopes">
      <IconButton
        label="Collapse all scopes"
        disabled={none}
        onClick={() => collapseAll(store)}
      >
        <CollapseIcon />
      </IconButton>
      <IconButton
        label="Expand all scopes"
        disabled={none}
        onClick={() => expandAll(store)}
      >
        <ExpandIcon />
      </IconButton>
    </fieldset>
  );
}

function ColorSelect() {
  const store = useStore();
  return (
    <LabelledSelect
      label="Colour by"
      value={store.ui.colorBy.value}
      labels={COLOR_LABELS}
      testId="color-by"
      onChoose={(colorBy) => setColorBy(store, colorBy)}
    />
  );
}

function ThemeButton() {
  const store = useStore();
  const choice = store.ui.themeChoice.value;
  const { next, Icon } = THEMES[choice];
  return (
    <IconButton label={`Theme: ${choice}`} onClick={() => setTheme(store, next)}>
      <Icon />
    </IconButton>
  );
}

/** In a small cell of a notebook: all tools, or only what the graph needs. */
function ToolsButton() {
  const store = useStore();
  if (!store.ui.cell.value || !store.ui.narrow.value) return null;
  return (
    <IconButton
      label="All tools"
      pressed={store.ui.tools.value}
      testId="all-tools"
      onClick={() => toggleTools(store)}
    >
      <span class="glyph" aria-hidden="true">
        ⋯
      </span>
    </IconButton>
  );
}

/** What works on the graph, and is of no use without one. */
function GraphTools({ table }: { table: boolean }) {
  return (
    <>
      <SearchBox />
      <CameraButtons disabled={table} />
      <ScopeButtons disabled={table} />
      <ColorSelect />
      <DrawingTools disabled={table} />
    </>
  );
}

export function Toolbar() {
  const store = useStore();
  const table = store.ui.viewMode.value === "table";
  const graphless = store.derived.graphless.value;
  const cardable = store.derived.cardable.value;
  return (
    <section class="toolbar" aria-label="Toolbar">
      {!graphless && <GraphTools table={table} />}
      <ToolsButton />
      <fieldset class="group end" aria-label="Appearance">
        {!graphless && (
          <IconButton
            label="Table of the nodes"
            shortcut="t"
            pressed={table}
            testId="view-mode"
            onClick={() => setViewMode(store, table ? "graph" : "table")}
          >
            {table ? <GraphIcon /> : <TableIcon />}
          </IconButton>
        )}
        {!graphless && <ExportMenu />}
        <ThemeButton />
        <IconButton label="Help" shortcut="?" onClick={() => setHelp(store, true)}>
          <span class="glyph" aria-hidden="true">
            ?
          </span>
        </IconButton>
        {cardable && (
          <IconButton label="Back to the card" onClick={() => closeToCard(store)}>
            <CloseIcon />
          </IconButton>
        )}
      </fieldset>
    </section>
  );
}
