// Inputs, outputs and saved tensors as tables; a name picks the tensor for the picture.
import type { TensorMeta } from "../ir/types.js";
import { formatTuple } from "../state/format.js";
import { type SavedUse, type TensorUse, tensorLabel } from "../state/inspect.js";
import { Name, ScrollBox, Tag } from "./text.js";

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
        <thead>
          <tr>
            <th scope="col">Role</th>
            <th scope="col">Name</th>
            <th scope="col">Shape</th>
            <th scope="col">Dtype</th>
            <th scope="col">Strides</th>
            <th scope="col">Offset</th>
            <th scope="col">Storage</th>
            <th scope="col">Version</th>
            <th scope="col">Flags</th>
          </tr>
        </thead>
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
        <thead>
          <tr>
            <th scope="col">Slot</th>
            <th scope="col">Name</th>
            <th scope="col">Shape</th>
            <th scope="col">Storage</th>
            <th scope="col" title="Version when it was saved, and now">
              Version saved → now
            </th>
            <th scope="col">State</th>
          </tr>
        </thead>
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
                <span class="tags">
                  {use.saved.freed ? <Tag>freed</Tag> : <Tag>kept</Tag>}
                  {use.saved.hooked && <Tag title="Packed by a hook">hooked</Tag>}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}
