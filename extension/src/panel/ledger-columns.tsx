// The columns of the ledger's tables: what each cell says, and what it sorts by.
import { formatBytes, formatCount, formatTuple } from "../state/format.js";
import type { SavedRow } from "../state/ledger.js";
import type { BadRow, Fate } from "../state/nonfinite.js";
import type { SheetColumn } from "./sheet.js";
import { VersionChange } from "./tensor-table.js";
import { Name, Tag } from "./text.js";

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function SavedName({ row }: { row: SavedRow }) {
  const { tensor } = row;
  return (
    <>
      <span class="code">{formatTuple(tensor.shape)}</span>
      <span class="detail">
        {tensor.name !== null && (
          <>
            <Name text={tensor.name} />{" "}
          </>
        )}
        {tensor.dtype}
      </span>
    </>
  );
}

/** The size of a storage where it is counted; elsewhere which storage it is. */
function SavedBytes({ row: { nbytes, counted, tensor } }: { row: SavedRow }) {
  if (nbytes === null) return <span title="The memory behind it is not known">?</span>;
  if (counted) {
    return (
      <>
        {formatBytes(nbytes)}
        <span class="detail">{`#${tensor.storage}`}</span>
      </>
    );
  }
  return (
    <span class="muted" title="Counted in another row of the same storage">
      shared
      <span class="detail">{`#${tensor.storage}`}</span>
    </span>
  );
}

export const SAVED_COLUMNS: readonly SheetColumn<SavedRow>[] = [
  {
    label: "Op, slot",
    value: ({ op }) => op,
    cell: ({ op, saved, place }) => (
      <>
        <Name text={op} />
        <span class="detail">
          <Name text={saved.slot} />
          {place !== "" && (
            <>
              {" "}
              <Name text={place} />
            </>
          )}
        </span>
      </>
    ),
  },
  {
    label: "Shape, tensor",
    value: ({ tensor }) => sizeOf(tensor.shape),
    cell: (row) => <SavedName row={row} />,
  },
  {
    label: "Bytes",
    number: true,
    value: ({ nbytes, counted }) => (counted ? nbytes : null),
    cell: (row) => <SavedBytes row={row} />,
  },
  {
    label: "Version",
    value: ({ modified, saved }) => (modified ? 1e9 : 0) + saved.version_now,
    cell: ({ saved, modified }) => <VersionChange saved={saved} modified={modified} />,
  },
  {
    label: "State",
    value: ({ saved }) => `${saved.freed ? "freed" : "kept"} ${saved.hooked}`,
    cell: ({ saved }) => (
      <span class="tags">
        <Tag>{saved.freed ? "freed" : "kept"}</Tag>
        {saved.hooked && <Tag title="Packed by a saved-tensors hook">packed</Tag>}
      </span>
    ),
  },
];

const ORDER: Readonly<Record<Fate, number>> = { birth: 0, propagated: 1, healed: 2 };
const SIGNS: Readonly<Record<Fate, string>> = {
  birth: "✱",
  propagated: "→",
  healed: "✓",
};

export const BAD_COLUMNS: readonly SheetColumn<BadRow>[] = [
  {
    label: "Op",
    value: ({ op }) => op,
    cell: ({ op, place }) => (
      <>
        <Name text={op} />
        <span class="detail">
          <Name text={place} />
        </span>
      </>
    ),
  },
  {
    label: "Fate",
    value: ({ fate }) => ORDER[fate],
    cell: ({ fate, cause }) => (
      <>
        <span class={`fate ${fate}`}>
          <span aria-hidden="true">{SIGNS[fate]}</span> {fate}
        </span>
        <span class="detail">
          <Name text={cause} />
        </span>
      </>
    ),
  },
  {
    label: "What",
    value: ({ kind, where }) => `${kind} ${where}`,
    cell: ({ kind, where }) => (
      <>
        <strong class="bad">{kind}</strong>
        <span class="detail">{where}</span>
      </>
    ),
  },
  {
    label: "Count",
    number: true,
    value: ({ count }) => count,
    cell: ({ count, first }) => (
      <>
        {formatCount(count)}
        {first !== null && <span class="detail">{`at ${formatTuple(first)}`}</span>}
      </>
    ),
  },
];
