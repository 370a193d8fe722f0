// Two graphs of one snapshot compared: two passes, or before and after an edit.
import { useMemo } from "preact/hooks";
import { SIGNS } from "../graph/mark.js";
import { type CompareView, setCompare } from "../state/actions-compare.js";
import { pickNode } from "../state/actions-ledger.js";
import type { CompareRow } from "../state/compare.js";
import { distance } from "../state/compare-changes.js";
import type { Comparison } from "../state/comparison.js";
import { formatNumber, formatPlural } from "../state/format.js";
import { visibleText } from "../state/visible-text.js";
import { Choices } from "./choices.js";
import { useStore } from "./context.js";
import { FilterText } from "./filter-text.js";
import { Sheet, type SheetColumn } from "./sheet.js";
import { Empty, isolated, Name } from "./text.js";

function PassPick({
  label,
  comparison: { passes },
  at,
  onPick,
}: {
  label: string;
  comparison: Comparison;
  at: number;
  onPick: (position: number) => void;
}) {
  return (
    <label class="pick">
      <span>{label}</span>
      <select
        value={String(at)}
        onChange={(event) => onPick(Number(event.currentTarget.value))}
      >
        {passes.map((pass, position) => (
          <option key={pass.label} value={String(position)}>
            {`${isolated(pass.label)}, ${formatPlural(pass.nodes.length, "node")}`}
          </option>
        ))}
      </select>
    </label>
  );
}

const SHOWN: readonly (readonly [show: CompareView["show"], label: string])[] = [
  ["differences", "Differences"],
  ["added", "+ Added"],
  ["removed", "− Removed"],
  ["changed", "~ Changed"],
  ["same", "= Same"],
];

function matches({ kind }: CompareRow, show: CompareView["show"]): boolean {
  return show === "differences" ? kind !== "same" : kind === show;
}

function Sign({ row: { kind } }: { row: CompareRow }) {
  if (kind === "same") return <span class="sign same">=</span>;
  return (
    <span class={`sign ${kind}`} role="img" aria-label={kind}>
      {SIGNS[kind]}
    </span>
  );
}

function Ratio({ ratio }: { ratio: number | null }) {
  if (ratio === null) return <span class="muted">–</span>;
  const text = ratio === Infinity ? "from 0" : `×${formatNumber(ratio)}`;
  return <span title="The gradient's norm, after over before">{text}</span>;
}

const COLUMNS: readonly SheetColumn<CompareRow>[] = [
  {
    label: "Op",
    value: ({ label }) => label,
    cell: (row) => (
      <>
        <Sign row={row} /> <Name text={row.label} />
        <span class="detail">
          <Name text={[row.scope, row.place].filter(Boolean).join(" ")} />
        </span>
      </>
    ),
  },
  {
    label: "What",
    value: ({ changes }) => changes.join(" "),
    cell: ({ kind, changes }) => (
      <ul class={kind === "changed" ? "what" : "what code"}>
        {changes.map((change) => (
          <li key={change}>
            <Name text={change} />
          </li>
        ))}
      </ul>
    ),
  },
  {
    label: "Gradient",
    number: true,
    value: ({ ratio }) => (ratio === null ? null : distance(ratio)),
    cell: ({ ratio }) => <Ratio ratio={ratio} />,
  },
];

/** The selected node in both graphs, each one step away. */
function Both({ comparison }: { comparison: Comparison }) {
  const store = useStore();
  const selected = store.derived.selectedNode.value?.id;
  const row =
    selected === undefined
      ? undefined
      : comparison.rows.find(
          ({ before, after }) => before === selected || after === selected,
        );
  if (row === undefined || row.before === row.after) return null;
  const ends = [
    { node: row.before, label: comparison.passes[comparison.before]?.label ?? "" },
    { node: row.after, label: comparison.passes[comparison.after]?.label ?? "" },
  ];
  return (
    <p class="both">
      <Sign row={row} /> <Name text={row.label} /> in
      {ends.map(({ node, label }, end) =>
        node === null ? (
          <span key={end} class="muted">{`not in ${visibleText(label)}`}</span>
        ) : (
          <button
            key={end}
            type="button"
            class="link"
            aria-current={node === selected}
            onClick={() => pickNode(store, node)}
          >
            <Name text={label} />
          </button>
        ),
      )}
    </p>
  );
}

function Rows({ comparison }: { comparison: Comparison }) {
  const store = useStore();
  const { show, text } = store.ui.compare.value;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = comparison.rows.filter((row) => {
    if (!matches(row, show)) return false;
    const { label, scope, place, changes } = row;
    const hay = [label, scope, place, ...changes].join(" ").toLowerCase();
    return words.every((word) => hay.includes(word));
  });
  const selected = store.derived.selectedNode.value?.id;
  if (shown.length === 0) {
    const all = show === "differences" && text === "";
    return (
      <Empty>
        {all
          ? "The graphs do not differ, nor any gradient by a factor of 10."
          : "No row matches."}
      </Empty>
    );
  }
  return (
    <Sheet
      caption="What differs, in the order of the forward pass"
      testId="compare-rows"
      columns={COLUMNS}
      rows={shown}
      keyOf={({ id }) => id}
      isSelected={({ before, after }) => selected === before || selected === after}
      onPick={({ before, after }) => pickNode(store, after ?? before ?? 0)}
    />
  );
}

export function Compare() {
  const store = useStore();
  const comparison = store.derived.comparison.value;
  const { show, text } = store.ui.compare.value;
  const choices = useMemo(
    () =>
      SHOWN.map(([value, label]) => ({
        value,
        label,
        count: comparison?.rows.filter((row) => matches(row, value)).length ?? 0,
      })),
    [comparison],
  );
  if (comparison === null) return null;
  const { before, after } = comparison;
  return (
    <div class="ledger">
      <div class="picks">
        {(["before", "after"] as const).map((end) => (
          <PassPick
            key={end}
            label={end === "before" ? "Before" : "After"}
            comparison={comparison}
            at={comparison[end]}
            onPick={(position) => setCompare(store, { [end]: position })}
          />
        ))}
        <button
          type="button"
          onClick={() => setCompare(store, { before: after, after: before })}
        >
          Swap
        </button>
      </div>
      <Choices
        legend="Which rows"
        choices={choices}
        chosen={show}
        onChoose={(value) => setCompare(store, { show: value })}
      />
      <FilterText
        hint="op, module, line, what changed"
        text={text}
        onText={(words) => setCompare(store, { text: words })}
      />
      <Both comparison={comparison} />
      <Rows comparison={comparison} />
    </div>
  );
}
