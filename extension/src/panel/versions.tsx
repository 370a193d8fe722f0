// The life of a storage, version by version: who wrote, and which saved tensors expect it.
//
//   v0 ● first seen      mul saved it as _saved_self: overwritten since
//   v1 ● add_ train.py:12
//   v2 ● mul_ train.py:14   now
import { useState } from "preact/hooks";
import { goToNode } from "../state/actions.js";
import { formatPlural } from "../state/format.js";
import {
  type SavedAt,
  type VersionStep,
  versionSteps,
} from "../state/storage-history.js";
import type { Tables } from "../state/tables.js";
import { useStore } from "./context.js";
import { PlaceLink } from "./source-view.js";
import { Name, Tag } from "./text.js";

const ENDS = 4; // steps shown at both ends of a long life
const SAVED_SHOWN = 4;

function Go({ node, text }: { node: number | null; text: string }) {
  const store = useStore();
  if (node === null) return <Name text={text} />;
  return (
    <button type="button" class="link" onClick={() => goToNode(store, node)}>
      <Name text={text} />
    </button>
  );
}

function SavedHere({ saved }: { saved: SavedAt }) {
  return (
    <span class={saved.stale ? "detail bad" : "detail"}>
      {"saved by "}
      <Go node={saved.node} text={saved.label} />
      {" as "}
      <code>
        <Name text={saved.slot} />
      </code>
      {saved.stale ? ": overwritten since" : saved.freed ? ", freed" : ""}
    </span>
  );
}

function Step({ step, isLast }: { step: VersionStep; isLast: boolean }) {
  const { version, op, node, place, saved } = step;
  const rest = saved.length - SAVED_SHOWN;
  return (
    <li class={saved.some(({ stale }) => stale) ? "stale" : ""}>
      <b class="code">{`v${version}`}</b>
      <div>
        {op === "" ? (
          <span class="muted">as first seen</span>
        ) : (
          <Go node={node} text={op} />
        )}{" "}
        {place !== null && <PlaceLink place={place} />} {isLast && <Tag>now</Tag>}
        {saved.slice(0, SAVED_SHOWN).map((each, at) => (
          <SavedHere key={at} saved={each} />
        ))}
        {rest > 0 && <span class="detail">{`and by ${rest} more`}</span>}
      </div>
    </li>
  );
}

export function Versions({ tables, storage }: { tables: Tables; storage: number }) {
  const [whole, setWhole] = useState(false);
  const steps = versionSteps(tables, storage);
  const hidden = whole ? 0 : Math.max(0, steps.length - 2 * ENDS);
  const last = steps.at(-1);
  return (
    <>
      {steps.length === 1 && <p class="muted">No in-place write was recorded.</p>}
      <ol class="versions" aria-label="Versions of this storage">
        {steps.map((step, at) => {
          if (hidden > 0 && at >= ENDS && at < ENDS + hidden) {
            return at === ENDS ? (
              <li key="hidden" class="hidden">
                <button type="button" class="link" onClick={() => setWhole(true)}>
                  {`${formatPlural(hidden, "more version")}`}
                </button>
              </li>
            ) : null;
          }
          return <Step key={step.version} step={step} isLast={step === last} />;
        })}
      </ol>
    </>
  );
}
