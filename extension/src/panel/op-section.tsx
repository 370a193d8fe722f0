// The forward call with its arguments, what the op does, and its derivative.
import type { OpNode } from "../ir/types.js";
import { regionText, writtenRegion } from "../scene/region.js";
import { formatTuple } from "../state/format.js";
import { type NodeDetails, tensorLabel } from "../state/inspect.js";
import { type Derivative, derivativeOf, docOf } from "../state/op-docs.js";
import { visibleCode } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { OpenIcon } from "./icons.js";
import { Empty, Name } from "./text.js";

function Doc({ node }: { node: OpNode }) {
  const doc = docOf(node);
  if (doc === null) return null;
  return (
    <p class="doc" data-testid="op-doc">
      {doc.what}{" "}
      <a href={doc.page} target="_blank" rel="noopener noreferrer">
        {doc.name}
        <OpenIcon />
      </a>
    </p>
  );
}

function Recorded({ text }: { text: string }) {
  return (
    <pre class="formula" dir="ltr">
      {visibleCode(text)}
    </pre>
  );
}

function Formulas({ derivative: { formulas, says } }: { derivative: Derivative }) {
  if (formulas.length === 0) return <p>{says}</p>;
  return (
    <dl class="formulas" data-testid="formulas">
      {formulas.map(([input, formula]) => (
        <div key={input}>
          <dt>
            <code>{input}</code>
          </dt>
          <dd>
            <code dir="ltr">{formula}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The known formula; else, or on demand, the text that the engine runs. */
function DerivativeView({ node }: { node: OpNode }) {
  const known = derivativeOf(node);
  const { formula } = node;
  if (known === null) {
    return formula === "" ? (
      <Empty>The formula of this derivative is not known.</Empty>
    ) : (
      <Recorded text={formula} />
    );
  }
  return (
    <>
      <Formulas derivative={known} />
      {formula !== "" && (
        <details class="stack">
          <summary>As the engine computes it</summary>
          <Recorded text={formula} />
        </details>
      )}
    </>
  );
}

/** "Wrote [1:3] of (4, 3)": of an in-place op on a view. */
function Written({ node }: { node: OpNode }) {
  const snapshot = useStore().data.snapshot.value;
  const region = snapshot === null ? null : writtenRegion(snapshot, node);
  if (region === null) return null;
  return (
    <p data-testid="written">
      {`Wrote ${regionText(region)} of ${formatTuple(region.shape)}.`}
    </p>
  );
}

/** "conv2d(x, weight, bias, stride=(1, 1))" and the formula of the derivative. */
export function CallView({ details }: { details: NodeDetails }) {
  const { node, inputs } = details;
  if (node.kind === "accumulate" || node.kind === "leaf") {
    return (
      <p>
        Adds the gradient that arrives to <code>.grad</code> of{" "}
        <Name text={node.call || "a leaf"} />.
      </p>
    );
  }
  const tensors = inputs.map(({ id, tensor }) => tensorLabel(id, tensor));
  return (
    <div class="call" data-testid="call">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long calls scroll by keyboard */}
      <code class="signature" dir="ltr" tabIndex={0}>
        <Name text={`${node.call}(${[...tensors, ...node.arguments].join(", ")})`} />
      </code>
      <Written node={node} />
      <Doc node={node} />
      <h4>Derivative: the gradient for each input</h4>
      <DerivativeView node={node} />
    </div>
  );
}
