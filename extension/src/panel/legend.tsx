// What the colours of the nodes mean now.
import { useStore } from "./context.js";

export function Legend() {
  const store = useStore();
  if (store.data.snapshot.value === null) return null;
  return null;
}
