// The bar between graph and inspector: drag it, or move it with the arrow keys.
import { useRef } from "preact/hooks";
import { setInspectorShare } from "../state/actions.js";
import { useStore } from "./context.js";

const KEY_STEP = 3; // percent

export function Splitter() {
  const store = useStore();
  const bar = useRef<HTMLDivElement>(null);
  const narrow = store.ui.narrow.value;
  const share = store.ui.inspectorShare.value;

  const follow = (event: PointerEvent) => {
    const frame = bar.current?.closest(".middle")?.getBoundingClientRect();
    if (frame === undefined || !bar.current?.hasPointerCapture(event.pointerId)) return;
    const rest = narrow
      ? (frame.bottom - event.clientY) / frame.height
      : (frame.right - event.clientX) / frame.width;
    setInspectorShare(store, 100 * rest);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const grow = narrow ? "ArrowUp" : "ArrowLeft";
    const shrink = narrow ? "ArrowDown" : "ArrowRight";
    if (event.key !== grow && event.key !== shrink) return;
    event.preventDefault();
    event.stopPropagation();
    setInspectorShare(store, share + (event.key === grow ? KEY_STEP : -KEY_STEP));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr cannot be focused and valued
    <div
      ref={bar}
      class="splitter"
      role="separator"
      tabIndex={0}
      aria-label="Size of the inspector"
      aria-orientation={narrow ? "horizontal" : "vertical"}
      aria-valuenow={Math.round(share)}
      aria-valuemin={0}
      aria-valuemax={100}
      onPointerDown={(event) => bar.current?.setPointerCapture(event.pointerId)}
      onPointerMove={follow}
      onKeyDown={onKeyDown}
    />
  );
}
