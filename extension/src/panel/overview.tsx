// What the inspector shows while nothing is selected: the leaves, and what looks wrong.
import { goToNode } from "../state/actions.js";
import { formatNumber, formatPlural, formatTuple } from "../state/format.js";
import { type LeafRow, leafRows, type Trouble, troubles } from "../state/overview.js";
import { useStore } from "./context.js";
import { Empty, Name, ScrollBox, Section, Tag } from "./text.js";

const SHOWN = 60;

function LeafTable({ rows }: { rows: readonly LeafRow[] }) {
  const store = useStore();
  const rest = rows.length - SHOWN;
  return (
    <ScrollBox label="Leaves">
      <table class="data" data-testid="leaves">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Shape</th>
            <th scope="col">Gradient norm</th>
            <th scope="col">Smallest to largest</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN).map(({ id, name, shape, gradient }) => (
            <tr key={id}>
              <th scope="row">
                <button type="button" class="link" onClick={() => goToNode(store, id)}>
                  <Name text={name} />
                </button>
              </th>
              <td class="code">{shape === null ? "–" : formatTuple(shape)}</td>
              <td class="number">
                {formatNumber(gradient?.norm)}{" "}
                {gradient !== null && gradient.nans + gradient.infs > 0 && (
                  <Tag tone="bad">NaN or Inf</Tag>
                )}
              </td>
              <td class="number">
                {gradient === null
                  ? "–"
                  : `${formatNumber(gradient.minimum)} to ${formatNumber(gradient.maximum)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && (
        <p class="muted">{`and ${formatPlural(rest, "more leaf", "more leaves")}`}</p>
      )}
    </ScrollBox>
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

export function Overview() {
  const store = useStore();
  const tables = store.derived.tables.value;
  if (tables === null) return null;
  const { snapshot } = tables;
  const { nodes, edges, title, producer, notes } = snapshot;
  const wrong = troubles(snapshot);
  const leaves = leafRows(tables);
  return (
    <>
      <header class="node-head">
        <h2>
          <Name text={title || "Autograd graph"} />
        </h2>
        <p>
          {`${formatPlural(nodes.length, "node")} and ${formatPlural(edges.length, "edge")}, recorded by `}
          <Name text={producer} />.
        </p>
        {nodes.length > 0 && (
          <p class="muted">
            Select a node to see the line that made it, what it keeps for the
            derivative, the gradient that came in, and how its tensors lie in memory.
            Press <kbd>?</kbd> for the keys.
          </p>
        )}
      </header>
      {notes.length > 0 && (
        <Section title="Notes" note={String(notes.length)}>
          <ul class="note-list">
            {notes.map((note) => (
              <li key={note} dir="auto">
                {note}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {wrong.length > 0 && (
        <Section title="To look at" note={String(wrong.length)}>
          <TroubleList list={wrong} />
        </Section>
      )}
      {nodes.length > 0 && (
        <Section title="Leaves" note={String(leaves.length)}>
          {leaves.length === 0 ? (
            <Empty>No leaf collects a gradient in this graph.</Empty>
          ) : (
            <LeafTable rows={leaves} />
          )}
        </Section>
      )}
    </>
  );
}
