// The inspector of one node: what it is, whose line made it, what it keeps, what flowed.
import { useRef, useState } from "preact/hooks";
import { codeNames } from "../graph/names.js";
import type { Snapshot, Statistics } from "../ir/types.js";
import { setFolded, showFinding } from "../state/actions.js";
import { findingsOfNode } from "../state/findings.js";
import {
  formatNanoseconds,
  formatNumber,
  formatPlural,
  formatTuple,
} from "../state/format.js";
import { gradientSeries } from "../state/gradient-series.js";
import {
  type NodeDetails,
  nodeTitle,
  type TensorUse,
  tensorChoices,
} from "../state/inspect.js";
import { receivedNorm } from "../state/rows.js";
import { rowAt } from "../state/tables.js";
import { cellsOf } from "../state/thumbnail.js";
import { answerOfNode } from "../state/why.js";
import { Boundary } from "./boundary.js";
import { CheckDerivative } from "./check-derivative.js";
import { useStore } from "./context.js";
import { GradientSection } from "./gradient-section.js";
import { Histogram } from "./histogram.js";
import { LiveValues } from "./live-values.js";
import { MemorySection } from "./memory-section.js";
import { NeighbourList } from "./neighbours.js";
import { CallView } from "./op-section.js";
import { scrollPaneTo } from "./scroll-pane.js";
import { SeverityWord } from "./severity.js";
import { PlaceLink, PlaceText, SourceView, StackView } from "./source-view.js";
import { StorageSection } from "./storage-section.js";
import { StrideSection } from "./stride-picture.js";
import { type PickTensor, SavedTable, TensorTable } from "./tensor-table.js";
import { Empty, type Fact, Facts, Name, Section, Tag } from "./text.js";
import { ThumbnailView } from "./thumbnail.js";
import { WaitingValues } from "./waiting-values.js";
import { WhatIfSection } from "./what-if.js";
import { WhyLine } from "./why.js";

const LAYOUT = "Memory layout";

const KINDS: Readonly<Record<NodeDetails["node"]["kind"], string>> = {
  op: "op",
  view: "view",
  inplace: "in-place",
  custom: "custom Function",
  accumulate: "accumulates a gradient",
  leaf: "leaf",
  cut: "cut",
  root: "root",
};

function Header({ details }: { details: NodeDetails }) {
  const { node, module } = details;
  const snapshot = useStore().data.snapshot.value;
  const named = snapshot === null ? undefined : codeNames(snapshot).get(details.id);
  const own = nodeTitle(details.id, node);
  const name = named ?? (node.call || own);
  return (
    <header class="node-head">
      <h2>
        <Name text={name} />
        {name !== own && (
          <small>
            {" "}
            <Name text={own} />
          </small>
        )}
      </h2>
      <p class="tags">
        <Tag tone="accent">{KINDS[node.kind]}</Tag>
        {node.flags.map((flag) => (
          <Tag key={flag} tone={flag === "modified" ? "bad" : "plain"}>
            {flag}
          </Tag>
        ))}
        {module !== null && (
          <span class="muted">
            in <Name text={module.path} title={`${module.path} (${module.kind})`} />
          </span>
        )}
        {node.iteration !== null && (
          <span class="muted">{`· run ${node.iteration + 1} of its line`}</span>
        )}
      </p>
    </header>
  );
}

/** The findings that point at this node, each with the way to it. */
function NodeFindings({ snapshot, id }: { snapshot: Snapshot; id: number }) {
  const store = useStore();
  const findings = findingsOfNode(snapshot, id);
  if (findings.length === 0) return null;
  return (
    <ul class="node-findings" aria-label="Findings here" data-testid="node-findings">
      {findings.map(({ id: row, finding }) => (
        <li key={row}>
          <SeverityWord severity={finding.severity} />
          <button type="button" class="link" onClick={() => showFinding(store, row)}>
            <Name text={`${finding.code} ${finding.slug}`} />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The facts people look for first, of the node's first output. */
function summaryFacts(details: NodeDetails, norm: number | null): Fact[] {
  const { node, place } = details;
  const tensor = details.outputs[0]?.tensor;
  const facts: Fact[] = [];
  if (tensor !== undefined) {
    facts.push(
      { label: "Shape", value: formatTuple(tensor.shape) },
      { label: "Strides", value: formatTuple(tensor.strides) },
      { label: "Dtype", value: tensor.dtype },
      { label: "Version", value: tensor.version },
    );
  }
  facts.push({ label: "Gradient norm", value: formatNumber(norm) });
  facts.push({
    label: "Source",
    value: place === null ? "–" : <PlaceText place={place} />,
  });
  if (tensor !== undefined) facts.push({ label: "Device", value: tensor.device });
  if (node.sequence !== null) facts.push({ label: "Sequence", value: node.sequence });
  if (node.elapsed_ns !== null) {
    facts.push({ label: "Backward time", value: formatNanoseconds(node.elapsed_ns) });
  }
  return facts;
}

/** Each hook with the line that defines it. */
function Hooks({ hooks }: { hooks: NodeDetails["hooks"] }) {
  return (
    <ul class="hooks">
      {hooks.map(({ name, place }, position) => (
        <li key={position}>
          <code>
            <Name text={name} />
          </code>
          {place !== null && <PlaceLink place={place} />}
        </li>
      ))}
    </ul>
  );
}

/** Inputs, outputs and what is kept; a name picks the tensor for the picture below. */
function TensorSections({
  details: { id, inputs, outputs, saved },
  onPick,
}: {
  details: NodeDetails;
  onPick: PickTensor;
}) {
  const modified = saved.filter((use) => use.modified).length;
  const uses = [...inputs, ...outputs];
  return (
    <>
      <Section title="Tensors" note={formatPlural(uses.length, "tensor")}>
        {uses.length === 0 ? (
          <Empty>No inputs or outputs were recorded for this node.</Empty>
        ) : (
          <TensorTable uses={uses} onPick={onPick} />
        )}
        <Values uses={[...outputs, ...inputs]} />
        <LiveValues key={id} id={id} />
      </Section>
      <Section
        title="Saved tensors"
        note={modified > 0 ? `${modified} modified` : String(saved.length)}
      >
        {saved.length === 0 ? (
          <Empty>This node keeps no tensor for its derivative.</Empty>
        ) : (
          <SavedTable uses={saved} onPick={onPick} />
        )}
      </Section>
    </>
  );
}

/** What the tensors held, each once: a thumbnail, or the histogram of the output. */
function Values({ uses }: { uses: readonly TensorUse[] }) {
  const snapshot = useStore().data.snapshot.value;
  const seen = new Map<Statistics, string>();
  for (const { role, tensor } of uses) {
    const statistics = rowAt(snapshot?.statistics ?? [], tensor.statistics);
    if (statistics === null || seen.has(statistics)) continue;
    seen.set(statistics, [tensor.name ?? role, formatTuple(tensor.shape)].join(" "));
  }
  const [first] = seen.keys();
  const cells = snapshot && first ? cellsOf(snapshot, first) : null;
  return (
    <div class="thumbnails">
      {[...seen].map(([statistics, title]) => (
        <ThumbnailView key={title} statistics={statistics} title={title} />
      ))}
      {first && cells?.thumbnail === null && <Histogram statistics={first} />}
    </div>
  );
}

function NeighbourSection({ details }: { details: NodeDetails }) {
  return (
    <Section title="Neighbours">
      <NeighbourList
        title="Its inputs come from, gradients go to"
        neighbours={details.producers}
        none="Nothing: the gradient ends here."
      />
      <NeighbourList
        title="Its outputs go to, gradients come from"
        neighbours={details.consumers}
        none="Nothing: backward() starts here."
      />
    </Section>
  );
}

interface Props {
  readonly snapshot: Snapshot;
  readonly details: NodeDetails;
}

export function NodeInspector({ snapshot, details }: Props) {
  const store = useStore();
  const layout = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const tables = store.derived.tables.value;
  const norm = tables === null ? null : receivedNorm(tables, details.id);
  const pick = (tensor: number) => {
    setChosen(tensor);
    setFolded(store, LAYOUT, false);
    scrollPaneTo(layout.current);
  };
  return (
    <>
      <Header details={details} />
      <NodeFindings snapshot={snapshot} id={details.id} />
      <WhyLine asked={answerOfNode(snapshot, details.id)} />
      <Facts facts={summaryFacts(details, norm)} testId="summary" />
      <Section title="Source">
        <SourceView place={details.place} />
        <StackView stack={details.stack} />
      </Section>
      <div ref={layout}>
        <Section title={LAYOUT}>
          <Boundary what="the memory layout" attempt={chosen}>
            <StrideSection
              snapshot={snapshot}
              choices={tensorChoices(details)}
              chosen={chosen}
              onChoose={setChosen}
            />
          </Boundary>
        </Section>
      </div>
      <Section title="Operation">
        <CallView details={details} />
        <CheckDerivative id={details.id} node={details.node} />
      </Section>
      <TensorSections details={details} onPick={pick} />
      <Section title="Gradient">
        <GradientSection
          gradients={details.gradients}
          series={tables === null ? [] : gradientSeries(tables, details.id)}
        />
        <WaitingValues node={details.id} />
      </Section>
      <WhatIfSection of="node" row={details.id} kind={details.node.kind} />
      <Section title="Storage" note={formatPlural(details.storages.length, "storage")}>
        <StorageSection uses={details.storages} />
      </Section>
      {tables !== null && (
        <Section title="Memory">
          <Boundary what="what keeps the memory" attempt={details.id}>
            <MemorySection tables={tables} id={details.id} />
          </Boundary>
        </Section>
      )}
      <NeighbourSection details={details} />
      {details.hooks.length > 0 && (
        <Section title="Hooks" note={String(details.hooks.length)}>
          <Hooks hooks={details.hooks} />
        </Section>
      )}
    </>
  );
}
