// The physical side of the stride picture: the storage as one line of addresses.
import { useRef, useState } from "preact/hooks";
import { formatCount } from "../state/format.js";
import {
  indicesText,
  isOverlap,
  type PictureItem,
  type Pointed,
  type StripCell,
} from "../state/picture.js";
import type { Layout } from "../state/strides.js";
import { tintOf } from "./stride-grid.js";

interface Props {
  readonly layout: Layout;
  readonly strip: readonly PictureItem[];
  readonly pointed: Pointed | null;
  readonly onPoint: (pointed: Pointed | null) => void;
}

function cellLabel(layout: Layout, cell: StripCell): string {
  if (cell.state === "skipped") return `address ${cell.address}: skipped`;
  const shared = cell.shared ? "shared by " : "";
  const also = isOverlap(cell) ? ", reached by another view shown" : "";
  return `address ${cell.address}: ${shared}${indicesText(layout, cell.address)}${also}`;
}

function cellClass(cell: StripCell, pointed: boolean): string {
  const classes = ["strip-cell", cell.state];
  if (cell.row !== null) classes.push(tintOf(cell.row));
  if (cell.shared) classes.push("shared");
  if (isOverlap(cell)) classes.push("overlap");
  if (pointed) classes.push("pointed");
  return classes.join(" ");
}

function Cell({
  layout,
  cell,
  pointed,
  reachable,
  onPoint,
}: {
  layout: Layout;
  cell: StripCell;
  pointed: boolean;
  reachable: boolean;
  onPoint: (pointed: Pointed) => void;
}) {
  const point = () => onPoint({ address: cell.address, index: null });
  return (
    <button
      type="button"
      class={cellClass(cell, pointed)}
      tabIndex={reachable ? 0 : -1}
      data-address={cell.address}
      aria-label={cellLabel(layout, cell)}
      onMouseEnter={point}
      onFocus={point}
    >
      {cell.address}
      {cell.others.length > 0 && (
        <span class="bars">
          {cell.others.map((view) => (
            <i key={view} class={`bar view-${view % 4}`} />
          ))}
        </span>
      )}
    </button>
  );
}

function Gap({ item }: { item: Extract<PictureItem, { kind: "gap" }> }) {
  const last = item.from + item.count - 1;
  return (
    <span class="strip-gap" title={`Addresses ${item.from} to ${last} are not drawn`}>
      {`⋯ ${formatCount(item.count)} ⋯`}
    </span>
  );
}

export function StrideStrip({ layout, strip, pointed, onPoint }: Props) {
  const line = useRef<HTMLOListElement>(null);
  const cells = strip.flatMap((item) => (item.kind === "cell" ? [item.cell] : []));
  const bars = Math.max(0, ...cells.map((cell) => cell.others.length));
  const [cursor, setCursor] = useState<number | null>(null);
  const current = cursor ?? cells[0]?.address;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = cells.findIndex((cell) => cell.address === current);
    const next = cells[at + step];
    if (next === undefined) return;
    setCursor(next.address);
    line.current
      ?.querySelector<HTMLElement>(`[data-address="${next.address}"]`)
      ?.focus();
  };
  return (
    <ol
      ref={line}
      class="strip"
      aria-label="Storage, one cell per address"
      data-testid="strip"
      style={{ "--bars": bars }}
      onKeyDown={onKeyDown}
      onMouseLeave={() => onPoint(null)}
    >
      {strip.map((item) =>
        item.kind === "gap" ? (
          <li key={`gap ${item.from}`}>
            <Gap item={item} />
          </li>
        ) : (
          <li key={item.cell.address}>
            <Cell
              layout={layout}
              cell={item.cell}
              pointed={pointed?.address === item.cell.address}
              reachable={item.cell.address === current}
              onPoint={onPoint}
            />
          </li>
        ),
      )}
    </ol>
  );
}
