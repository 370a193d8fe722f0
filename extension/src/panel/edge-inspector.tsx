// The inspector of one edge: the tensor that flowed, and the gradient that came back.
import type { OpNode, Snapshot } from "../ir/types.js";
import { goToNode } from "../state/actions.js";
import { formatNumber, formatTuple } from "../state/format.js";
import { type EdgeDetails, nodeTitle, tensorLabel } from "../state/inspect.js";
import { rowAt } from "../state/tables.js";
import { useStore } from "./context.js";
import { StatisticsView } from "./gradient-section.js";
import { StorageSection } from "./storage-section.js";
import { StrideSection } from "./stride-picture.js";
import { Empty, type Fact, Facts, Name, Section, Tag } from "./text.js";
import { ThumbnailView } from "./thumbnail.js";
import { WhatIfSection } from "./what-if.js";

function End({ id, node, end }: { id: number; node: OpNode | null; end: string }) {
  const store = useStore();
  return (
    <span>
      <button type="button" class="link" onClick={() => goToNode(store, id)}>
        <Name text={node === null ? "unknown" : nodeTitle(id, node)} />
      </button>{" "}
      <span class="muted">{end}</span>
    </span>
  );
}

function Header({ details }: { details: EdgeDetails }) {
  const { edge, source, target, tensor } = details;
  return (
    <header class="node-head">
      <h2>
        {tensor === null ? (
          "Edge"
        ) : (
          <Name text={tensorLabel(tensor.id, tensor.tensor)} />
        )}
      </h2>
      <p class="tags">
        <Tag tone="accent">{edge.kind === "cut" ? "cut edge" : "edge"}</Tag>
        <End id={edge.source} node={source} end={`output ${edge.output}`} />
        <span aria-hidden="true">→</span>
        <End id={edge.target} node={target} end={`input ${edge.input}`} />
      </p>
    </header>
  );
}

function summaryFacts({ tensor, gradient }: EdgeDetails): Fact[] {
  const norm = { label: "Gradient norm", value: formatNumber(gradient?.norm) };
  if (tensor === null) return [norm];
  const { shape, strides, dtype, version } = tensor.tensor;
  return [
    { label: "Shape", value: formatTuple(shape) },
    { label: "Strides", value: formatTuple(strides) },
    { label: "Dtype", value: dtype },
    { label: "Version", value: version },
    norm,
  ];
}

interface Props {
  readonly snapshot: Snapshot;
  readonly details: EdgeDetails;
}

export function EdgeInspector({ snapshot, details }: Props) {
  const { edge, tensor, gradient } = details;
  const none =
    edge.kind === "cut"
      ? "The graph is cut here: no gradient can flow back along this edge."
      : "No gradient was recorded on this edge.";
  const values = rowAt(snapshot.statistics, tensor?.tensor.statistics);
  return (
    <>
      <Header details={details} />
      <Facts testId="summary" facts={summaryFacts(details)} />
      <ThumbnailView statistics={values} title="tensor" />
      <Section title="Gradient" note="sent back along this edge">
        {gradient === null ? (
          <Empty>{none}</Empty>
        ) : (
          <StatisticsView statistics={gradient} />
        )}
      </Section>
      <WhatIfSection of="edge" row={details.id} kind={edge.kind} />
      <Section title="Memory layout">
        <StrideSection
          snapshot={snapshot}
          choices={tensor === null ? [] : [tensor]}
          chosen={null}
          onChoose={() => {}}
        />
      </Section>
      <Section title="Storage">
        <StorageSection uses={details.storages} />
      </Section>
    </>
  );
}
