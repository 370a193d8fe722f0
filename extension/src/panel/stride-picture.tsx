// The stride picture: how the elements of one tensor lie in its storage.
//
//   Tensor [ weight (4, 1, 3, 3) v ]   dim 0 [2] dim 1 [0]
//        0  1  2          0  1  2  3  4  5  6  7  8 …
//    0  18 19 20          (cells in the colour of their row; hatched where skipped)
//    1  21 22 23
//   index (2, 0, 1, 2): 2·9 + 0·9 + 1·3 + 2·1 + 0 = 23, byte 92
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Snapshot, TensorMeta } from "../ir/types.js";
import { formatPlural, formatTuple } from "../state/format.js";
import {
  otherViews,
  storageLength,
  type TensorUse,
  tensorLabel,
} from "../state/inspect.js";
import {
  buildPicture,
  type Picture,
  type Pointed,
  pointedText,
} from "../state/picture.js";
import { describeLayout, elementCount, isStrided } from "../state/strides.js";
import { rowAt } from "../state/tables.js";
import { LeadSelectors, OTHERS_LISTED, OtherViews } from "./stride-controls.js";
import { StrideGrid } from "./stride-grid.js";
import { StrideStrip } from "./stride-strip.js";
import { TensorFlags } from "./tensor-table.js";
import { Empty, type Fact, Facts, isolated } from "./text.js";

const ROWS = 12;
const COLUMNS = 12; // until the width is known
const COLUMN_RANGE = [6, 16] as const;
const HEAD_PX = 34;
const COLUMN_PX = 33;

/** The arithmetic of the cell that is pointed at; kept one line high when there is none. */
function Arithmetic({
  tensor,
  itemsize,
  pointed,
}: {
  tensor: TensorMeta;
  itemsize: number | null;
  pointed: Pointed | null;
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
  return (
    <output class="arithmetic code" data-testid="arithmetic">
      {text}
    </output>
  );
}

function PictureBody({
  snapshot,
  tensor,
  picture,
}: {
  snapshot: Snapshot;
  tensor: TensorMeta;
  picture: Picture;
}) {
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const itemsize = rowAt(snapshot.storages, tensor.storage)?.itemsize ?? null;
  const shared = useMemo(() => {
    const cells = picture.strip.flatMap((item) =>
      item.kind === "cell" ? [item.cell] : [],
    );
    return new Set(cells.filter((cell) => cell.shared).map((cell) => cell.address));
  }, [picture]);
  return (
    <>
      <div class="stride-sides">
        <StrideGrid
          layout={tensor}
          grid={picture.grid}
          pointed={pointed}
          shared={shared}
          onPoint={setPointed}
        />
        <StrideStrip
          layout={tensor}
          strip={picture.strip}
          pointed={pointed}
          onPoint={setPointed}
        />
      </div>
      <Arithmetic tensor={tensor} itemsize={itemsize} pointed={pointed} />
      <StripKey picture={picture} />
    </>
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
      {some((cell) => cell.shared) && (
        <li>
          <i class="strip-cell slice shared tint-0" /> shared by several indices
        </li>
      )}
    </ul>
  );
}

function whyNoPicture(tensor: TensorMeta): string | null {
  if (!isStrided(tensor)) return "The strides of this tensor are not known.";
  if (elementCount(tensor) > 0) return null;
  return "This tensor has no elements, so there is no cell to draw.";
}

function layoutFacts(tensor: TensorMeta): Fact[] {
  const { shape, strides, offset, dtype, storage, version } = tensor;
  return [
    { label: "Shape", value: formatTuple(shape) },
    { label: "Strides", value: formatTuple(strides) },
    { label: "Offset", value: offset },
    { label: "Dtype", value: dtype },
    { label: "Storage", value: storage === null ? "–" : `#${storage}` },
    { label: "Version", value: version },
    { label: "Flags", value: <TensorFlags tensor={tensor} /> },
  ];
}

const NOWHERE = { shape: [0], strides: [1], offset: 0 };

/** How many columns fit the picture, so that the grid is elided rather than cut off. */
function useColumns(picture: { current: HTMLElement | null }): number {
  const [columns, setColumns] = useState(COLUMNS);
  useEffect(() => {
    const element = picture.current;
    if (element === null || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry === undefined || entry.contentRect.width === 0) return;
      const fitting = Math.floor((entry.contentRect.width - HEAD_PX) / COLUMN_PX);
      const [least, most] = COLUMN_RANGE;
      setColumns(Math.min(most, Math.max(least, fitting)));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [picture]);
  return columns;
}

interface Props {
  readonly snapshot: Snapshot;
  readonly use: TensorUse;
  /** Other views of the storage that are drawn from the start. */
  readonly alsoShown: readonly number[];
}

export function StridePicture({ snapshot, use: { id, tensor }, alsoShown }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const columns = useColumns(element);
  const [lead, setLead] = useState<readonly number[]>([]);
  const [shown, setShown] = useState<ReadonlySet<number>>(new Set(alsoShown));
  const views = useMemo(() => otherViews(snapshot, id), [snapshot, id]);
  const length = storageLength(snapshot, tensor);
  const picture = useMemo(() => {
    // A view that is off keeps its place in the list, so that colours do not jump.
    const others = views
      .slice(0, OTHERS_LISTED)
      .map((view) => (shown.has(view.id) ? view.tensor : NOWHERE));
    return buildPicture(tensor, lead, others, length, { rows: ROWS, columns });
  }, [views, tensor, lead, shown, length, columns]);
  const missing = whyNoPicture(tensor);
  const toggle = (view: number) => {
    const next = new Set(shown);
    if (!next.delete(view)) next.add(view);
    setShown(next);
  };
  return (
    <div ref={element} class="picture" data-testid="stride-picture">
      <Facts testId="layout-facts" facts={layoutFacts(tensor)} />
      <p class="muted">
        {isStrided(tensor) && describeLayout(tensor)}
        {length !== null && ` The storage holds ${formatPlural(length, "element")}.`}
      </p>
      {missing !== null ? (
        <Empty>{missing}</Empty>
      ) : (
        <>
          <LeadSelectors shape={tensor.shape} lead={lead} onLead={setLead} />
          <PictureBody snapshot={snapshot} tensor={tensor} picture={picture} />
        </>
      )}
      <OtherViews views={views} shown={shown} onToggle={toggle} />
    </div>
  );
}

/** The picture with a list of tensors to choose from. */
export function StrideSection({
  snapshot,
  choices,
  chosen,
  onChoose,
  alsoShown = [],
}: {
  snapshot: Snapshot;
  choices: readonly TensorUse[];
  chosen: number | null;
  onChoose: (id: number) => void;
  alsoShown?: readonly number[];
}) {
  const use = choices.find(({ id }) => id === chosen) ?? choices[0];
  if (use === undefined) return <Empty>No tensor is known for this node.</Empty>;
  return (
    <>
      <label class="pick">
        <span>Tensor</span>
        <select
          value={String(use.id)}
          data-testid="tensor-pick"
          onChange={(event) => onChoose(Number(event.currentTarget.value))}
        >
          {choices.map(({ id, role, tensor }) => (
            <option key={id} value={String(id)}>
              {`${isolated(tensorLabel(id, tensor))} ${formatTuple(tensor.shape)}: ${role}`}
            </option>
          ))}
        </select>
      </label>
      <StridePicture key={use.id} snapshot={snapshot} use={use} alsoShown={alsoShown} />
    </>
  );
}
