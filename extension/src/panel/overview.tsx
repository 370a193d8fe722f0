// What the inspector shows while nothing is selected: the leaves, and what looks wrong.
import type { Snapshot } from "../ir/types.js";
import { goToNode } from "../state/actions.js";
import {
  formatCount,
  formatNumber,
  formatPlural,
  formatTuple,
} from "../state/format.js";
import { type LeafRow, leafRows, type Trouble, troubles } from "../state/overview.js";
import { useStore } from "./context.js";
import { NoteList } from "./note-list.js";
import { Empty, Name, Section, Tag } from "./text.js";

const SHOWN = 60;

function Leaf({ row: { id, name, shape, gradient } }: { row: LeafRow }) {
  const store = useStore();
  const range =
    gradient?.minimum == null && gradient?.maximum == null
      ? "–"
      : `${formatNumber(gradient.minimum)} to ${formatNumber(gradient.maximum)}`;
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => goToNode(store, id)}>
          <Name text={name} />
        </button>
      </th>
      <td class="code">{shape === null ? "–" : formatTuple(shape)}</td>
      <td class="number">
        {formatNumber(gradient?.norm ?? store.derived.norms.value.get(id))}{" "}
        {gradient !== null && gradient.nans + gradient.infs > 0 && (
          <Tag tone="bad">NaN or Inf</Tag>
        )}
      </td>
      <td class="number">{range}</td>
    </tr>
  );
}

function LeafTable({ rows }: { rows: readonly LeafRow[] }) {
  const rest = rows.length - SHOWN;
  return (
    <>
      <table class="data" data-testid="leaves">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Shape</th>
            <th scope="col">Gradient norm</th>
            <th scope="col">Gradient range</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN).map((row) => (
            <Leaf key={row.id} row={row} />
          ))}
        </tbody>
      </table>
      {rest > 0 && (
        <p class="muted">{`and ${formatPlural(rest, "more leaf", "more leaves")}`}</p>
      )}
    </>
  );
}

function TroubleList({ list }: { list: readonly Trouble[] }) {
  const store = useStore();
  return (
    <ul class="troubles" data-testid="troubles">
      {list.slice(0, SHOWN).map(({ id, title, what }) => (
        <li key={`${id} ${what}`}>
          <button type="button" class="link" onClick={() => goToNode(store, id)}>
            <Name text={title} />
          </button>
          <span class="bad">{what}</span>
        </li>
      ))}
      {list.length > SHOWN && (
        <li class="muted">{`and ${list.length - SHOWN} more`}</li>
      )}
    </ul>
  );
}

function Header({ snapshot }: { snapshot: Snapshot }) {
  const { nodes, edges, title, producer } = snapshot;
  const counts = `${formatPlural(nodes.length, "node")} and ${formatPlural(edges.length, "edge")}`;
  return (
    <header class="node-head">
      <h2>
        <Name text={title || "Autograd graph"} />
      </h2>
      <p>
        {`${counts}, recorded by `}
        <Name text={producer} />.
      </p>
      {nodes.length > 0 && (
        <p class="muted">
          Select a node to see the line that made it, what it keeps for the derivative,
          the gradient that came in, and how its tensors lie in memory. Press{" "}
          <kbd>?</kbd> for the keys.
        </p>
      )}
    </header>
  );
}

export function Overview() {
  const store = useStore();
  const tables = store.derived.tables.value;
  if (tables === null) return null;
  const { snapshot } = tables;
  const wrong = troubles(snapshot);
  const leaves = leafRows(tables);
  return (
    <>
      <Header snapshot={snapshot} />
      {wrong.length > 0 && (
        <Section title="To look at" note={formatCount(wrong.length)}>
          <TroubleList list={wrong} />
        </Section>
      )}
      {snapshot.nodes.length > 0 && (
        <Section title="Leaves" note={formatCount(leaves.length)}>
          {leaves.length === 0 ? (
            <Empty>No leaf collects a gradient in this graph.</Empty>
          ) : (
            <LeafTable rows={leaves} />
          )}
        </Section>
      )}
      <NoteList notes={snapshot.notes} />
    </>
  );
}
