// The two sides of the stride picture with the arithmetic below, and what overlaps.
import { useMemo, useState } from "preact/hooks";
import type { TensorMeta } from "../ir/types.js";
import { formatPlural } from "../state/format.js";
import {
  isOverlap,
  otherText,
  overlapOf,
  type Picture,
  type Pointed,
  pointedText,
  type StripCell,
} from "../state/picture.js";
import { distinctAddresses, isStrided, type Layout } from "../state/strides.js";
import { visibleText } from "../state/visible-text.js";
import { StrideGrid } from "./stride-grid.js";
import { StrideStrip } from "./stride-strip.js";
import { Name } from "./text.js";

/** Another view of the memory, laid over the picture where it is on. */
export interface Overlay {
  readonly label: string;
  readonly layout: Layout;
  readonly on: boolean;
}

/** The arithmetic of the cell that is pointed at; kept one line high when there is none. */
function Arithmetic({
  tensor,
  itemsize,
  pointed,
  overlays,
}: {
  tensor: TensorMeta;
  itemsize: number | null;
  pointed: Pointed | null;
  overlays: readonly Overlay[];
}) {
  if (pointed === null) {
    return (
      <output class="arithmetic muted" data-testid="arithmetic">
        Point at a cell to see how its address comes about.
      </output>
    );
  }
  const byte = itemsize === null ? "" : `, byte ${pointed.address * itemsize}`;
  const text = pointedText(tensor, pointed) + byte;
  const others = overlays.flatMap(({ label, layout, on }) => {
    const other = on ? otherText(visibleText(label), layout, pointed.address) : null;
    return other ?? [];
  });
  return (
    <output class="arithmetic code" data-testid="arithmetic">
      {text}
      {others.map((other) => (
        <span key={other} class="detail">
          {other}
        </span>
      ))}
    </output>
  );
}

export function PictureBody({
  tensor,
  itemsize,
  picture,
  overlays,
}: {
  tensor: TensorMeta;
  itemsize: number | null;
  picture: Picture;
  overlays: readonly Overlay[];
}) {
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [shared, overlapping] = useMemo(() => {
    const cells = picture.strip.flatMap((item) =>
      item.kind === "cell" ? [item.cell] : [],
    );
    const addresses = (test: (cell: StripCell) => boolean) =>
      new Set(cells.filter(test).map((cell) => cell.address));
    return [addresses((cell) => cell.shared), addresses(isOverlap)];
  }, [picture]);
  return (
    <>
      <div class="stride-sides">
        <StrideGrid
          layout={tensor}
          grid={picture.grid}
          pointed={pointed}
          shared={shared}
          overlapping={overlapping}
          onPoint={setPointed}
        />
        <StrideStrip
          layout={tensor}
          strip={picture.strip}
          pointed={pointed}
          onPoint={setPointed}
        />
      </div>
      <Arithmetic
        tensor={tensor}
        itemsize={itemsize}
        pointed={pointed}
        overlays={overlays}
      />
      <StripKey picture={picture} />
    </>
  );
}

/** How much of the memory of this tensor another one shown reaches too. */
export function Overlaps({
  tensor,
  overlays,
}: {
  tensor: TensorMeta;
  overlays: readonly Overlay[];
}) {
  const shown = overlays.filter(({ on }) => on);
  const own = useMemo(() => distinctAddresses(tensor), [tensor]);
  if (shown.length === 0 || !isStrided(tensor)) return null;
  return (
    <ul class="overlaps" data-testid="overlaps">
      {shown.map(({ label, layout }) => {
        const common = overlapOf(tensor, layout);
        const all =
          own === null ? "" : ` of ${formatPlural(own, "address", "addresses")}`;
        return (
          <li key={label}>
            <Name text={label} />
            {common === null
              ? " is too large to compare."
              : ` reaches ${common}${all} too.`}
          </li>
        );
      })}
    </ul>
  );
}

/** What the looks of the cells mean; only those that occur. */
function StripKey({ picture }: { picture: Picture }) {
  const cells = picture.strip.flatMap((item) =>
    item.kind === "cell" ? [item.cell] : [],
  );
  const some = (test: (cell: (typeof cells)[number]) => boolean) => cells.some(test);
  return (
    <ul class="strip-key">
      <li>
        <i class="strip-cell slice tint-0" /> this slice, one tint per row
      </li>
      {some((cell) => cell.state === "tensor") && (
        <li>
          <i class="strip-cell tensor" /> in the tensor, but not in the grid drawn
        </li>
      )}
      {some((cell) => cell.state === "skipped") && (
        <li>
          <i class="strip-cell skipped" /> skipped
        </li>
      )}
      {some(isOverlap) && (
        <li>
          <i class="strip-cell slice overlap tint-0" /> reached by another view shown
        </li>
      )}
      {some((cell) => cell.shared) && (
        <li>
          <i class="strip-cell slice shared tint-0" /> shared by several indices
        </li>
      )}
    </ul>
  );
}
