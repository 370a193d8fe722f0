// The tree of modules beside the graph: what is in the program, with one small bar each.
import { useRef } from "preact/hooks";
import { goToNode, goToScope, setOutline, toggleScope } from "../state/actions.js";
import { formatCount, formatPlural } from "../state/format.js";
import { MEASURE_WORDS, measureFor, type OutlineRow } from "../state/outline.js";
import { useStore } from "./context.js";
import { SEVERITY_ICONS } from "./severity.js";
import { Name } from "./text.js";

function Row({ row, isFirst }: { row: OutlineRow; isFirst: boolean }) {
  const store = useStore();
  const { scope, node, depth, name, kind, isOpen, share, words, isBad } = row;
  const { severity, dead } = row;
  const { value: selection } = store.ui.selection;
  const isSelected =
    selection !== null &&
    (selection.kind === "scope" ? selection.id === scope : selection.id === node);
  const Icon = severity === null ? null : SEVERITY_ICONS[severity];
  const select = () => {
    if (scope !== null) goToScope(store, scope);
    else if (node !== null) goToNode(store, node);
  };
  const toggle = () => scope !== null && isOpen !== null && toggleScope(store, scope);
  const onKeyDown = (event: KeyboardEvent) => {
    const wantsOpen = event.key === "ArrowRight";
    if (event.key === "Enter" || event.key === " ") select();
    else if (!wantsOpen && event.key !== "ArrowLeft") return;
    else if (isOpen === !wantsOpen) toggle();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isSelected}
      {...(isOpen !== null && { "aria-expanded": isOpen })}
      tabIndex={isFirst ? 0 : -1}
      class={share === null ? "bare" : ""}
      style={{ "--depth": depth }}
      onClick={select}
      onDblClick={toggle}
      onKeyDown={onKeyDown}
    >
      <span
        class="twisty"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          toggle();
        }}
      >
        {isOpen === null ? "" : isOpen ? "▾" : "▸"}
      </span>
      <span class="own">
        <Name text={name} />
        {kind !== "" && (
          <small>
            <Name text={kind} />
          </small>
        )}
      </span>
      {Icon !== null && (
        <span class={`severity ${severity}`}>
          <Icon />
          <span class="unseen">{severity}</span>
        </span>
      )}
      {dead > 0 && (
        <small class="bad" title={`${formatPlural(dead, "module")} in it: no gradient`}>
          <span aria-hidden="true">{`✕ ${formatCount(dead)}`}</span>
          <span class="unseen">{`${formatPlural(dead, "module")} without gradient`}</span>
        </small>
      )}
      {share === null ? (
        <small>{words}</small>
      ) : (
        <span class={isBad ? "bar bad" : "bar"} title={words}>
          <i style={{ width: `${(100 * share).toFixed(1)}%` }} />
          <span class="unseen">{words}</span>
        </span>
      )}
    </div>
  );
}

const MOVES: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowDown: (at, last) => Math.min(last, at + 1),
  ArrowUp: (at) => Math.max(0, at - 1),
  Home: () => 0,
  End: (_, last) => last,
};

export function Outline() {
  const store = useStore();
  const tree = useRef<HTMLDivElement>(null);
  const { hasOutline, outline: rows } = store.derived;
  if (!hasOutline.value) return null;
  const outline = rows.value; // null at first: its place is kept for it
  const isOpen = store.ui.outline.value;
  const onKeyDown = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const items = [
      ...(tree.current?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? []),
    ];
    const at = items.indexOf(event.target as HTMLElement);
    items[move(at, items.length - 1)]?.focus();
  };
  return (
    <nav class={isOpen ? "outline" : "outline shut"} aria-label="Modules">
      <button
        type="button"
        class="quiet"
        aria-expanded={isOpen}
        title={isOpen ? "Fold the outline away" : "Show the outline of the modules"}
        onClick={() => setOutline(store, !isOpen)}
      >
        {isOpen ? (
          <>
            <span>Modules</span>
            <small>{MEASURE_WORDS[measureFor(store.ui.colorBy.value)]}</small>
          </>
        ) : (
          <span>▸</span>
        )}
      </button>
      {isOpen && outline !== null && (
        <div
          ref={tree}
          role="tree"
          aria-label="Modules"
          data-testid="outline"
          onKeyDown={onKeyDown}
        >
          {outline.rows.map((row, at) => (
            <Row key={`${row.scope} ${row.node}`} row={row} isFirst={at === 0} />
          ))}
        </div>
      )}
      {isOpen && outline !== null && outline.more > 0 && (
        <p class="muted">{`and ${outline.more} more`}</p>
      )}
    </nav>
  );
}
