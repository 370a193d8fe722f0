// "Is this derivative right?": asks the kernel, and shows which entries differ.

import type { OpNode } from "../ir/types.js";
import type { Check } from "../state/kernel.js";
import { visibleText } from "../state/visible-text.js";
import { useApp } from "./context.js";
import { Name } from "./text.js";

const WHAT =
  "Run the forward of this node again in float64, and compare its slopes with backward";

const WITHOUT_FORMULA = ["accumulate", "leaf", "root", "cut"];

function Entries({ check }: { check: Check }) {
  if (check.entries.length === 0) return null;
  return (
    <table class="plain" aria-label="Entries that differ">
      <thead>
        <tr>
          <th scope="col">Entry</th>
          <th scope="col">Backward</th>
          <th scope="col">Numeric</th>
          <th scope="col">Ratio</th>
        </tr>
      </thead>
      <tbody>
        {check.entries.map(({ place, backward, numeric, ratio }) => (
          <tr key={place}>
            <td class="code">
              <Name text={place} />
            </td>
            <td class="number">{backward}</td>
            <td class="number">{numeric}</td>
            <td class="number">{ratio}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Nothing where no living kernel offers it, as on a page. */
export function CheckDerivative({ id, node }: { id: number; node: OpNode }) {
  const { store, ask } = useApp();
  const { services, kernelAlive } = store.data;
  const check = services.value?.check;
  if (check === undefined || WITHOUT_FORMULA.includes(node.kind)) return null;
  const said = check.node === id ? check.error || check.said : "";
  return (
    <div class="check-derivative">
      {kernelAlive.value && (
        <button
          type="button"
          title={WHAT}
          data-testid="check-derivative"
          onClick={() => ask?.({ service: "check", node: id })}
        >
          Check this derivative
        </button>
      )}
      {said !== "" && (
        <p
          role="status"
          data-testid="checked"
          class={check.agrees ? "good" : "refused"}
        >
          {visibleText(said)}
        </p>
      )}
      {said !== "" && <Entries check={check} />}
    </div>
  );
}
