// The storages a node touches: size, who else looks into them, and who wrote when.
import { formatBytes, formatPlural, formatTuple } from "../state/format.js";
import {
  type StorageUse,
  tensorLabel,
  type ViewRow,
  viewsOf,
} from "../state/inspect.js";
import { useStore } from "./context.js";
import { Empty, Facts, Name } from "./text.js";
import { Versions } from "./versions.js";

const ALIASES_SHOWN = 12;

function Aliases({ views }: { views: readonly ViewRow[] }) {
  const rest = views.length - ALIASES_SHOWN;
  return (
    <ul class="aliases" aria-label="Tensors that share this storage">
      {views.slice(0, ALIASES_SHOWN).map(({ id, tensor }) => (
        <li key={id}>
          <Name text={tensorLabel(id, tensor)} />{" "}
          <span class="code muted">{formatTuple(tensor.shape)}</span>
        </li>
      ))}
      {rest > 0 && <li class="muted">{`and ${rest} more`}</li>}
    </ul>
  );
}

export function StorageSection({ uses }: { uses: readonly StorageUse[] }) {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  const tables = store.derived.tables.value;
  if (snapshot === null || uses.length === 0) {
    return <Empty>No storage is known for the tensors of this node.</Empty>;
  }
  return (
    <>
      {uses.map((use) => (
        <article key={use.id} class="storage" data-testid={`storage-${use.id}`}>
          <h4>
            {`Storage #${use.id}`} <span class="muted">{use.roles.join(", ")}</span>
          </h4>
          <Facts
            facts={[
              {
                label: "Bytes",
                value: formatBytes(use.storage.nbytes),
                title: `${use.storage.nbytes} bytes`,
              },
              { label: "Device", value: use.storage.device },
              { label: "Version now", value: use.storage.version },
              {
                label: "Shared by",
                value: formatPlural(viewsOf(snapshot, use.id).length, "tensor"),
              },
            ]}
          />
          <Aliases views={viewsOf(snapshot, use.id)} />
          {tables !== null && <Versions tables={tables} storage={use.id} />}
        </article>
      ))}
    </>
  );
}
