// Inputs, outputs and saved tensors as tables; a name picks the tensor for the picture.
import type { ComponentChildren } from "preact";
import type { TensorMeta } from "../ir/types.js";
import { formatTuple } from "../state/format.js";
import { type SavedUse, type TensorUse, tensorLabel } from "../state/inspect.js";
import { writersSince } from "../state/ledger.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { PlaceLink } from "./source-view.js";
import { Name, Tag } from "./text.js";

// Few columns of two-line cells: they fit an inspector of 320 pixels, where a column for
// every fact would be cut off.
const TENSOR_COLUMNS = [
  "Tensor",
  "Shape, dtype",
  "Strides, offset",
  "Storage, version",
];
const SAVED_COLUMNS = ["Slot", "Shape", "Storage", "Version saved → now"];

const WRITERS_SHOWN = 3; // the last ones

export type PickTensor = (tensor: number) => void;

export function TensorFlags({ tensor }: { tensor: TensorMeta }) {
  return (
    <span class="tags">
      {tensor.requires_grad && <Tag title="requires_grad is True">grad</Tag>}
      {tensor.is_leaf && <Tag title="A leaf: made by the user, not by an op">leaf</Tag>}
      {tensor.is_view && (
        <Tag title="A view: shares another tensor's storage">view</Tag>
      )}
    </span>
  );
}

function TensorName({ use, onPick }: { use: TensorUse; onPick: PickTensor }) {
  const label = tensorLabel(use.id, use.tensor);
  return (
    <button
      type="button"
      class="link"
      title={visibleText(`Show the memory layout of ${label}`)}
      onClick={() => onPick(use.id)}
    >
      <Name text={label} />
    </button>
  );
}

function Head({ columns }: { columns: readonly string[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column} scope="col">
            {column}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** The second line of a cell. */
function Detail({ children }: { children: ComponentChildren }) {
  return <span class="detail">{children}</span>;
}

/** "#3", as the section on storage calls it. */
function StorageNumber({ tensor }: { tensor: TensorMeta }) {
  return <>{tensor.storage === null ? "–" : `#${tensor.storage}`}</>;
}

export function TensorTable({
  uses,
  onPick,
}: {
  uses: readonly TensorUse[];
  onPick: PickTensor;
}) {
  return (
    <table class="data" data-testid="tensors">
      <Head columns={TENSOR_COLUMNS} />
      <tbody>
        {uses.map((use) => (
          <tr key={use.role}>
            <th scope="row">
              <TensorName use={use} onPick={onPick} />
              <Detail>
                {use.role} <TensorFlags tensor={use.tensor} />
              </Detail>
            </th>
            <td class="code">
              {formatTuple(use.tensor.shape)}
              <Detail>{use.tensor.dtype}</Detail>
            </td>
            <td class="code">
              {formatTuple(use.tensor.strides)}
              <Detail>{`offset ${use.tensor.offset}`}</Detail>
            </td>
            <td class="code">
              <StorageNumber tensor={use.tensor} />
              <Detail>{`version ${use.tensor.version}`}</Detail>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** "0 → 0", red and named when the tensor was overwritten after it was saved. */
export function VersionChange({
  saved: { version_saved, version_now },
  modified,
}: Pick<SavedUse, "saved" | "modified">) {
  const text = `${version_saved} → ${version_now}`;
  if (!modified) return <>{text}</>;
  return (
    <strong
      class="bad"
      title="Overwritten after it was saved: backward() will refuse it"
    >
      {`${text} modified`}
    </strong>
  );
}

/** Who wrote to a saved tensor since: the op and its line. */
function Writers({ use: { saved, tensor } }: { use: SavedUse }) {
  const tables = useStore().derived.tables.value;
  if (tables === null) return null;
  const writers = writersSince(tables, saved, tensor);
  return (
    <>
      {writers.slice(-WRITERS_SHOWN).map(({ write, place }) => (
        <Detail key={write.version}>
          {"by "}
          <Name text={write.op} /> {place !== null && <PlaceLink place={place} />}
        </Detail>
      ))}
    </>
  );
}

function SavedState({ use: { saved } }: { use: SavedUse }) {
  return (
    <span class="tags">
      <Tag>{saved.freed ? "freed" : "kept"}</Tag>
      {saved.hooked && <Tag title="Packed by a hook">hooked</Tag>}
    </span>
  );
}

export function SavedTable({
  uses,
  onPick,
}: {
  uses: readonly SavedUse[];
  onPick: PickTensor;
}) {
  return (
    <table class="data" data-testid="saved">
      <Head columns={SAVED_COLUMNS} />
      <tbody>
        {uses.map((use, position) => (
          <tr key={`${use.role} ${position}`}>
            <th scope="row">
              <code>
                <Name text={use.role} />
              </code>
              <Detail>
                <TensorName use={use} onPick={onPick} /> <SavedState use={use} />
              </Detail>
            </th>
            <td class="code">{formatTuple(use.tensor.shape)}</td>
            <td class="code">
              <StorageNumber tensor={use.tensor} />
            </td>
            <td class="number">
              <VersionChange saved={use.saved} modified={use.modified} />
              <Writers use={use} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
