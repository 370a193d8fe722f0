// Inputs, outputs and saved tensors as tables; a name picks the tensor for the picture.
import type { TensorMeta } from "../ir/types.js";
import { formatTuple } from "../state/format.js";
import { type SavedUse, type TensorUse, tensorLabel } from "../state/inspect.js";
import { Name, ScrollBox, Tag } from "./text.js";

const TENSOR_COLUMNS = [
  "Role",
  "Name",
  "Shape",
  "Dtype",
  "Strides",
  "Offset",
  "Storage",
  "Version",
  "Flags",
];

const SAVED_COLUMNS = [
  "Slot",
  "Name",
  "Shape",
  "Storage",
  "Version saved → now",
  "State",
];

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
      title={`Show the memory layout of ${label}`}
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

export function TensorTable({
  uses,
  onPick,
}: {
  uses: readonly TensorUse[];
  onPick: PickTensor;
}) {
  return (
    <ScrollBox label="Inputs and outputs">
      <table class="data" data-testid="tensors">
        <Head columns={TENSOR_COLUMNS} />
        <tbody>
          {uses.map((use) => (
            <tr key={use.role}>
              <th scope="row">{use.role}</th>
              <td>
                <TensorName use={use} onPick={onPick} />
              </td>
              <td class="code">{formatTuple(use.tensor.shape)}</td>
              <td class="code">{use.tensor.dtype}</td>
              <td class="code">{formatTuple(use.tensor.strides)}</td>
              <td class="number">{use.tensor.offset}</td>
              <td class="number">
                {use.tensor.storage === null ? "–" : `#${use.tensor.storage}`}
              </td>
              <td class="number">{use.tensor.version}</td>
              <td>
                <TensorFlags tensor={use.tensor} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

/** "0 → 0", red and named when the tensor was overwritten after it was saved. */
function VersionChange({ use }: { use: SavedUse }) {
  const { version_saved, version_now } = use.saved;
  const text = `${version_saved} → ${version_now}`;
  if (!use.modified) return <>{text}</>;
  return (
    <strong
      class="bad"
      title="Overwritten after it was saved: backward() will refuse it"
    >
      {`${text} modified`}
    </strong>
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
    <ScrollBox label="Saved tensors">
      <table class="data" data-testid="saved">
        <Head columns={SAVED_COLUMNS} />
        <tbody>
          {uses.map((use, position) => (
            <tr key={`${use.role} ${position}`}>
              <th scope="row" class="code">
                <Name text={use.role} />
              </th>
              <td>
                <TensorName use={use} onPick={onPick} />
              </td>
              <td class="code">{formatTuple(use.tensor.shape)}</td>
              <td class="number">
                {use.tensor.storage === null ? "–" : `#${use.tensor.storage}`}
              </td>
              <td class="number">
                <VersionChange use={use} />
              </td>
              <td>
                <SavedState use={use} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}
