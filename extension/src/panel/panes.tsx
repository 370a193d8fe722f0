// What can stand beside the graph: one entry a tab; state/panes.ts says when it is offered.
import type { FunctionComponent } from "preact";
import type { Snapshot } from "../ir/types.js";
import type { PaneName } from "../state/panes.js";
import { Compare } from "./compare.js";
import { Findings } from "./findings.js";
import { FlowPane } from "./flow.js";
import { Inspector } from "./inspector.js";
import { Ledger } from "./ledger.js";

interface PaneEntry {
  readonly title: string;
  readonly testId: string;
  readonly Content: FunctionComponent<{ snapshot: Snapshot | null }>;
  /** The number behind the title. */
  readonly count?: (snapshot: Snapshot) => number;
}

export const PANES: Readonly<Record<PaneName, PaneEntry>> = {
  findings: {
    title: "Findings",
    testId: "findings-pane",
    Content: ({ snapshot }) => snapshot && <Findings snapshot={snapshot} />,
    count: ({ findings }) => findings.length,
  },
  inspector: { title: "Inspector", testId: "inspector", Content: Inspector },
  ledger: { title: "Ledger", testId: "ledger", Content: Ledger },
  flow: { title: "Gradient flow", testId: "gradient-flow", Content: FlowPane },
  compare: { title: "Compare", testId: "compare", Content: Compare },
};
