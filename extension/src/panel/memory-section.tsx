// What a node keeps alive, and which names of the program keep the node alive.
import { goToNode } from "../state/actions.js";
import { formatBytes, formatPlural } from "../state/format.js";
import { opLabel } from "../state/ledger.js";
import { type Holder, type MemoryUse, memoryOf } from "../state/memory.js";
import type { Tables } from "../state/tables.js";
import { useStore } from "./context.js";
import { Facts, Name } from "./text.js";

function HolderRow({ tables, holder }: { tables: Tables; holder: Holder }) {
  const store = useStore();
  const { name, node, steps } = holder;
  return (
    <li>
      <code>
        <Name text={name} />
      </code>
      {steps === 0 ? (
        <span class="muted">holds its output</span>
      ) : (
        <span class="muted">
          holds{" "}
          <button type="button" class="link" onClick={() => goToNode(store, node)}>
            <Name text={opLabel(tables.snapshot, node)} />
          </button>
          {`, ${formatPlural(steps, "step")} on`}
        </span>
      )}
    </li>
  );
}

function whoKeeps({ isFreed, holders, namesKnown }: MemoryUse): string {
  if (isFreed) return "What it saved is freed: backward() has run through it.";
  if (holders.length > 0) return "Kept by these names of the program:";
  if (!namesKnown) return "Which names of the program keep it was not recorded.";
  return "No name of the program leads here: it goes away with this recording's graph.";
}

/** What letting go of the node alone would free. */
function whatGoes({ own, alone }: MemoryUse): string {
  if (alone === 0) {
    return "Letting go of this node alone frees nothing: what it saves is kept by others, too.";
  }
  const rest =
    own > alone ? `; ${formatBytes(own - alone)} are kept by others, too` : "";
  return `Letting go of this node frees ${formatBytes(alone)}${rest}.`;
}

export function MemorySection({ tables, id }: { tables: Tables; id: number }) {
  const use = memoryOf(tables, id);
  return (
    <div data-testid="memory">
      <Facts
        testId="memory-facts"
        facts={[
          {
            label: "Saves",
            value: formatBytes(use.own),
            title: "Storages that this node saves, each counted once",
          },
          {
            label: "With all behind",
            value: formatBytes(use.behind),
            title:
              "Storages saved by this node and by those that backward() goes on to",
          },
          { label: "Nodes behind", value: String(use.nodesBehind) },
        ]}
      />
      {use.own > 0 && <p data-testid="memory-freed">{whatGoes(use)}</p>}
      <p class="muted">{whoKeeps(use)}</p>
      {!use.isFreed && use.holders.length > 0 && (
        <ul class="holders" aria-label="Names that keep this node">
          {use.holders.map((holder) => (
            <HolderRow
              key={`${holder.node} ${holder.name}`}
              tables={tables}
              holder={holder}
            />
          ))}
        </ul>
      )}
      {use.memoryHolders.length > 0 && (
        <p class="muted">
          Its memory is held without it too, by{" "}
          {use.memoryHolders.map((name, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <code>
                <Name text={name} />
              </code>
            </span>
          ))}
          .
        </p>
      )}
    </div>
  );
}
