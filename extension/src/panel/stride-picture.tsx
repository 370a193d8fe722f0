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
import { buildPicture } from "../state/picture.js";
import { describeLayout, elementCount, isStrided } from "../state/strides.js";
import { rowAt } from "../state/tables.js";
import { Overlaps, type Overlay, PictureBody } from "./stride-body.js";
import { LeadSelectors, OTHERS_LISTED, OtherViews } from "./stride-controls.js";
import { type TriedStep, WhatIf } from "./stride-what-if.js";
import { TensorFlags } from "./tensor-table.js";
import { Empty, type Fact, Facts, isolated } from "./text.js";

const ROWS = 12;
const COLUMNS = 12; // until the width is known
const COLUMN_RANGE = [6, 16] as const;
const HEAD_PX = 34;
const COLUMN_PX = 33;

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

/** The layout that is drawn: the tensor's, or what the steps tried made of it. */
function useTried({ snapshot, use: { id, tensor }, alsoShown }: Props) {
  const [steps, setSteps] = useState<readonly TriedStep[]>([]);
  const [lead, setLead] = useState<readonly number[]>([]);
  const [shown, setShown] = useState<ReadonlySet<number>>(new Set(alsoShown));
  const views = useMemo(() => otherViews(snapshot, id), [snapshot, id]);
  const isCopy = steps.some(({ outcome }) => outcome.copies);
  const drawn = useMemo(
    (): TensorMeta => ({
      ...tensor,
      ...steps.at(-1)?.outcome.layout,
      ...(isCopy && { storage: null, is_view: false }),
    }),
    [tensor, steps, isCopy],
  );
  const own = storageLength(snapshot, tensor);
  const length = isCopy ? elementCount(drawn) : own;
  // A view that is off keeps its place in the list, so that colours do not jump.
  const overlays = useMemo((): Overlay[] => {
    if (isCopy) return []; // nothing else looks into the new memory
    const listed = views.slice(0, OTHERS_LISTED).map(({ id: view, tensor: other }) => {
      return { label: tensorLabel(view, other), layout: other, on: shown.has(view) };
    });
    if (steps.length === 0) return listed;
    return [...listed, { label: tensorLabel(id, tensor), layout: tensor, on: true }];
  }, [views, shown, isCopy, steps, id, tensor]);
  return {
    steps,
    drawn,
    length,
    lead,
    setLead,
    shown,
    views: isCopy ? [] : views,
    overlays,
    tryStep: (next: readonly TriedStep[]) => {
      setSteps(next);
      setLead([]);
    },
    toggle: (view: number) => {
      const next = new Set(shown);
      if (!next.delete(view)) next.add(view);
      setShown(next);
    },
  };
}

export function StridePicture(props: Props) {
  const { snapshot, use } = props;
  const element = useRef<HTMLDivElement>(null);
  const columns = useColumns(element);
  const tried = useTried(props);
  const { drawn, lead, overlays, length } = tried;
  const picture = useMemo(() => {
    const others = overlays.map(({ layout, on }) => (on ? layout : NOWHERE));
    return buildPicture(drawn, lead, others, length, { rows: ROWS, columns });
  }, [drawn, lead, overlays, length, columns]);
  const missing = whyNoPicture(drawn);
  const itemsize = rowAt(snapshot.storages, use.tensor.storage)?.itemsize ?? null;
  return (
    <div ref={element} class="picture" data-testid="stride-picture">
      <Facts testId="layout-facts" facts={layoutFacts(drawn)} />
      <p class="muted">
        {isStrided(drawn) && describeLayout(drawn)}
        {length !== null && ` The storage holds ${formatPlural(length, "element")}.`}
      </p>
      {missing !== null ? (
        <Empty>{missing}</Empty>
      ) : (
        <>
          <LeadSelectors shape={drawn.shape} lead={lead} onLead={tried.setLead} />
          <PictureBody
            tensor={drawn}
            itemsize={itemsize}
            picture={picture}
            overlays={overlays}
          />
        </>
      )}
      <OtherViews views={tried.views} shown={tried.shown} onToggle={tried.toggle} />
      <Overlaps tensor={drawn} overlays={overlays} />
      {isStrided(use.tensor) && (
        <WhatIf
          label={tensorLabel(use.id, use.tensor)}
          start={use.tensor}
          steps={tried.steps}
          storageLength={length}
          itemsize={itemsize}
          onSteps={tried.tryStep}
        />
      )}
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
