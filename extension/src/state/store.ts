// The one store of a mounted view: data, UI state, and what is derived from both.
import { createDataState, type DataState } from "./data.js";
import { createSelectors, type Selectors } from "./selectors.js";
import { createUiState, type UiState } from "./ui.js";

export interface Store {
  readonly data: DataState;
  readonly ui: UiState;
  readonly derived: Selectors;
}

export function createStore(): Store {
  const data = createDataState();
  const ui = createUiState();
  return { data, ui, derived: createSelectors(data, ui) };
}
