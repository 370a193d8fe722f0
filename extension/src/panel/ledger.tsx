// The ledger: every saved tensor, and every NaN and Inf, as tables beside the graph.
import { useMemo } from "preact/hooks";
import type { Snapshot } from "../ir/types.js";
import { pickNode, setLedger } from "../state/actions-ledger.js";
import { formatBytes, formatCount, formatPlural } from "../state/format.js";
import {
  countSaved,
  filterSaved,
  SAVED_FILTERS,
  type SavedFilter,
  type SavedTotals,
  savedRows,
  savedTotals,
} from "../state/ledger.js";
import { badRows, countFates, type Fate, filterBad } from "../state/nonfinite.js";
import type { Tables } from "../state/tables.js";
import { Choices } from "./choices.js";
import { useStore } from "./context.js";
import { FilterText } from "./filter-text.js";
import { BAD_COLUMNS, SAVED_COLUMNS } from "./ledger-columns.js";
import { Sheet, type SheetColumn } from "./sheet.js";
import { Empty } from "./text.js";

/** The rows that a filter leaves, to sort and to select nodes with. */
function Rows<Row extends { readonly id: number; readonly node: number }>(props: {
  readonly caption: string;
  readonly testId: string;
  readonly columns: readonly SheetColumn<Row>[];
  readonly rows: readonly Row[];
}) {
  const store = useStore();
  const selected = store.derived.selectedNode.value?.id;
  return (
    <>
      <FilterText
        hint="op, tensor, dtype, line"
        text={store.ui.ledger.value.text}
        onText={(text) => setLedger(store, { text })}
      />
      {props.rows.length === 0 ? (
        <Empty>No row matches the filter.</Empty>
      ) : (
        <Sheet
          {...props}
          keyOf={({ id }) => id}
          isSelected={({ node }) => node === selected}
          onPick={({ node }) => pickNode(store, node)}
        />
      )}
    </>
  );
}

/** "1.2 MiB kept, of it 0.3 MiB parameters; 2 KiB freed." */
function totalsText(totals: SavedTotals): string {
  const { keptBytes, parameterBytes, freedBytes, modified } = totals;
  const kept = keptBytes > 0 ? `${formatBytes(keptBytes)} kept` : "nothing kept";
  const own =
    parameterBytes > 0 ? `, ${formatBytes(parameterBytes)} of it parameters` : "";
  const freed = freedBytes > 0 ? `; ${formatBytes(freedBytes)} freed` : "";
  const written = modified > 0 ? `; ${formatCount(modified)} overwritten since` : "";
  const size = `${formatPlural(totals.rows, "saved tensor")} in ${formatPlural(totals.storages, "storage")}`;
  return `${size}, each counted once: ${kept}${own}${freed}${written}.`;
}

const SAVED_LABELS: Readonly<Record<SavedFilter, string>> = {
  all: "All",
  kept: "Kept",
  freed: "Freed",
  modified: "Overwritten",
  packed: "Packed by a hook",
};

function SavedSheet({ snapshot }: { snapshot: Snapshot }) {
  const store = useStore();
  const { saved: filter, text } = store.ui.ledger.value;
  const rows = useMemo(() => savedRows(snapshot), [snapshot]);
  const counts = useMemo(() => countSaved(rows), [rows]);
  const totals = useMemo(() => savedTotals(snapshot, rows), [snapshot, rows]);
  const shown = useMemo(() => filterSaved(rows, filter, text), [rows, filter, text]);
  if (rows.length === 0) {
    return <Empty>No node of this graph keeps a tensor for its derivative.</Empty>;
  }
  const choices = SAVED_FILTERS.map((value) => ({
    value,
    label: SAVED_LABELS[value],
    count: counts[value],
  })).filter(({ value, count }) => count > 0 || value === "all");
  return (
    <>
      <p class="muted" data-testid="ledger-totals">
        {totalsText(totals)}
      </p>
      <Choices
        legend="Which saved tensors"
        choices={choices}
        chosen={filter}
        onChoose={(value) => setLedger(store, { saved: value })}
      />
      <Rows
        caption="Saved tensors"
        testId="ledger-saved"
        columns={SAVED_COLUMNS}
        rows={shown}
      />
    </>
  );
}

const FATES: readonly (readonly [fate: Fate, label: string])[] = [
  ["birth", "Births"],
  ["propagated", "Propagated"],
  ["healed", "Healed"],
];

function BadSheet({ tables }: { tables: Tables }) {
  const store = useStore();
  const { fate, text } = store.ui.ledger.value;
  const rows = useMemo(() => badRows(tables), [tables]);
  const counts = useMemo(() => countFates(rows), [rows]);
  const shown = useMemo(() => filterBad(rows, fate, text), [rows, fate, text]);
  const { statistics } = tables.snapshot;
  if (rows.length === 0) {
    return (
      <Empty>
        {statistics.length === 0
          ? "No values and no gradients were recorded, so NaN and Inf are not known."
          : "No NaN and no Inf was seen, in values or in gradients."}
      </Empty>
    );
  }
  const choices = [
    { value: "all" as const, label: "All", count: rows.length },
    ...FATES.map(([value, label]) => ({ value, label, count: counts[value] })),
  ];
  return (
    <>
      <p class="muted">
        {`${formatPlural(counts.birth, "birth")}, ${formatCount(counts.propagated)} propagated, ${formatCount(counts.healed)} healed: first the values, in the order of the forward pass, then the gradients.`}
      </p>
      <Choices<Fate | "all">
        legend="Which fate"
        choices={choices}
        chosen={fate}
        onChoose={(value) => setLedger(store, { fate: value })}
      />
      <Rows
        caption="NaN and Inf"
        testId="ledger-bad"
        columns={BAD_COLUMNS}
        rows={shown}
      />
    </>
  );
}

export function Ledger() {
  const store = useStore();
  const tables = store.derived.tables.value;
  const { sheet } = store.ui.ledger.value;
  const bad = useMemo(() => (tables === null ? 0 : badRows(tables).length), [tables]);
  if (tables === null) return null;
  const { snapshot } = tables;
  return (
    <div class="ledger">
      <Choices
        legend="Which table"
        choices={[
          { value: "saved", label: "Saved tensors", count: snapshot.saved.length },
          { value: "bad", label: "NaN and Inf", count: bad },
        ]}
        chosen={sheet}
        onChoose={(value) => setLedger(store, { sheet: value })}
      />
      {sheet === "saved" ? (
        <SavedSheet snapshot={snapshot} />
      ) : (
        <BadSheet tables={tables} />
      )}
    </div>
  );
}
