// What the program raised, in two lines; the whole sentence is its title.
import { raisedError, worstOf } from "../state/findings.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";

const ERROR_NAME = /^[\w.]*(Error|Exception)\b/;

/** From the event that says so, else the title of an older snapshot without a graph. */
export function Raised() {
  const { data, derived } = useStore();
  const snapshot = data.snapshot.value;
  if (snapshot === null) return null;
  // A watched training has no graph either, but it did not fail.
  const fails =
    derived.graphless.value &&
    snapshot.flow.length === 0 &&
    worstOf(snapshot.findings) === "error" &&
    ERROR_NAME.test(snapshot.title);
  const text = raisedError(snapshot) ?? (fails ? snapshot.title : "");
  const line = visibleText(text.trim().split("\n")[0] ?? "");
  if (line === "") return null;
  return (
    <p class="raised" data-testid="raised" dir="auto" title={line}>
      {line}
    </p>
  );
}
