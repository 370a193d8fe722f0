// The storages a node touches: size, who else looks into them, and who wrote when.
import type { Snapshot } from "../ir/types.js";
import { goToNode } from "../state/actions.js";
import { formatBytes, formatPlural, formatTuple } from "../state/format.js";
import { type StorageUse, tensorLabel, type WriteUse } from "../state/inspect.js";
import { rowAt } from "../state/tables.js";
import { useStore } from "./context.js";
import { PlaceLink } from "./source-view.js";
import { Empty, Facts, Name } from "./text.js";

const ALIASES_SHOWN = 12;

function WriteStep({ use }: { use: WriteUse }) {
  const store = useStore();
  const { write, place } = use;
  const node = write.node;
  const op = <Name text={write.op} />;
  return (
    <li>
      <b class="code">{`v${write.version}`}</b>
      {node === null ? (
        op
      ) : (
        <button type="button" class="link" onClick={() => goToNode(store, node)}>
          {op}
        </button>
      )}
      {place !== null && <PlaceLink place={place} />}
    </li>
  );
}

/** v0 → v1 add_ train.py:12 → v2 …, oldest first. */
function WriteLog({ use }: { use: StorageUse }) {
  if (use.writes.length === 0) {
    return (
      <p class="muted">{`v${use.storage.version}: no in-place write was recorded.`}</p>
    );
  }
  const before = (use.writes[0]?.write.version ?? 1) - 1;
  return (
    <ol class="writes" aria-label="Write log">
      <li>
        <b class="code">{`v${Math.max(0, before)}`}</b>
      </li>
      {use.writes.map((write) => (
        <WriteStep key={`${write.write.version} ${write.write.op}`} use={write} />
      ))}
    </ol>
  );
}

function Aliases({ snapshot, use }: { snapshot: Snapshot; use: StorageUse }) {
  const ids = use.storage.tensors;
  const rest = ids.length - ALIASES_SHOWN;
  return (
    <ul class="aliases" aria-label="Tensors that share this storage">
      {ids.slice(0, ALIASES_SHOWN).map((id) => {
        const tensor = rowAt(snapshot.tensors, id);
        if (tensor === null) return null;
        return (
          <li key={id}>
            <Name text={tensorLabel(id, tensor)} />{" "}
            <span class="code muted">{formatTuple(tensor.shape)}</span>
          </li>
        );
      })}
      {rest > 0 && <li class="muted">{`and ${rest} more`}</li>}
    </ul>
  );
}

export function StorageSection({ uses }: { uses: readonly StorageUse[] }) {
  const snapshot = useStore().data.snapshot.value;
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
                value: formatPlural(use.storage.tensors.length, "tensor"),
              },
            ]}
          />
          <Aliases snapshot={snapshot} use={use} />
          <WriteLog use={use} />
        </article>
      ))}
    </>
  );
}
