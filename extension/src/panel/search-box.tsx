// The search box: query, "3 of 12", next and previous.
import { setQuery, stepMatch } from "../state/actions.js";
import { formatCount } from "../state/format.js";
import { useStore } from "./context.js";
import { SearchIcon } from "./icons.js";
import { StepButton } from "./step-button.js";

function resultText(query: string, count: number, position: number | null): string {
  if (query.trim() === "") return "";
  if (count === 0) return "No match";
  const total = formatCount(count);
  return position === null ? `${total} found` : `${position + 1} of ${total}`;
}

export function SearchBox() {
  const store = useStore();
  const query = store.ui.query.value;
  const count = store.derived.matches.value.length;
  const steps = {
    disabled: count === 0,
    onStep: (step: 1 | -1) => stepMatch(store, step),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    stepMatch(store, event.shiftKey ? -1 : 1);
  };
  return (
    <search class="search">
      <SearchIcon />
      <input
        type="search"
        data-testid="search"
        aria-label="Search nodes"
        placeholder="Search nodes"
        title="Search names, calls, scopes and files ( / )"
        autocomplete="off"
        spellcheck={false}
        value={query}
        onInput={(event) => setQuery(store, event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <output class="count" data-testid="search-count">
        {resultText(query, count, store.ui.matchPosition.value)}
      </output>
      <StepButton label="Previous match" keys="Shift+Enter" step={-1} {...steps} />
      <StepButton label="Next match" keys="Enter" step={1} {...steps} />
    </search>
  );
}
