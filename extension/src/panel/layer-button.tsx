// The name of a layer of a training, which shows its course over the steps.
import { pickLayer } from "../state/actions-flow.js";
import { useStore } from "./context.js";
import { CutName } from "./text.js";

export function LayerButton({ row, name }: { row: number; name: string }) {
  const store = useStore();
  return (
    <button
      type="button"
      class="link"
      aria-pressed={row === store.derived.flowLayer.value}
      onClick={() => pickLayer(store, row)}
    >
      <CutName text={name} />
    </button>
  );
}
