// The button that lets go of what the traceback of a failed cell keeps alive.
import { visibleText } from "../state/visible-text.js";
import { useApp } from "./context.js";

const WHAT =
  "Empty the variables of the functions in the traceback, so that their tensors can go";

/** Nothing where no living kernel offers it, as on a page. */
export function ReleaseButton() {
  const { store, ask } = useApp();
  const { services, kernelAlive } = store.data;
  const release = services.value?.release;
  if (release === undefined) return null;
  const said = release.error || release.said;
  if (said !== "") {
    return (
      <span class="said" role="status" data-testid="released">
        {visibleText(said)}
      </span>
    );
  }
  if (!kernelAlive.value) return null; // with it went what it held
  return (
    <button
      type="button"
      data-testid="release"
      title={WHAT}
      onClick={() => ask?.({ service: "release" })}
    >
      Release memory
    </button>
  );
}
