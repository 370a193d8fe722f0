// What the user can change in the stride picture: the slice, and the other views shown.
import { formatTuple } from "../state/format.js";
import { type otherViews, tensorLabel } from "../state/inspect.js";
import { Name } from "./text.js";

/** More views than this would make bars that nobody can tell apart. */
export const OTHERS_LISTED = 8;

type View = ReturnType<typeof otherViews>[number];

/** One index for every dimension before the last two. */
export function LeadSelectors({
  shape,
  lead,
  onLead,
}: {
  shape: readonly number[];
  lead: readonly number[];
  onLead: (lead: readonly number[]) => void;
}) {
  const leading = shape.slice(0, Math.max(0, shape.length - 2));
  if (leading.length === 0) return null;
  return (
    <fieldset class="lead">
      <legend>Slice</legend>
      {leading.map((size, dim) => (
        <label key={dim}>
          {`dim ${dim}`}
          <input
            type="number"
            min={0}
            max={Math.max(0, size - 1)}
            disabled={size <= 1}
            value={lead[dim] ?? 0}
            aria-label={`Index in dimension ${dim}, 0 to ${Math.max(0, size - 1)}`}
            onInput={(event) => {
              const typed = Math.trunc(Number(event.currentTarget.value)) || 0;
              const value = Math.min(Math.max(0, typed), Math.max(0, size - 1));
              onLead(leading.map((_, d) => (d === dim ? value : (lead[d] ?? 0))));
            }}
          />
          <span class="muted">{`of ${size}`}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Switches for the views that share the storage. */
export function OtherViews({
  views,
  shown,
  onToggle,
}: {
  views: readonly View[];
  shown: ReadonlySet<number>;
  onToggle: (id: number) => void;
}) {
  if (views.length === 0) return null;
  return (
    <fieldset class="others">
      <legend>Other views of this storage</legend>
      {views.slice(0, OTHERS_LISTED).map(({ id, tensor }, position) => (
        <label key={id}>
          <input
            type="checkbox"
            checked={shown.has(id)}
            onChange={() => onToggle(id)}
          />
          <i class={`bar view-${position % 4}`} />
          <Name text={tensorLabel(id, tensor)} />
          <span class="code muted">
            {`${formatTuple(tensor.shape)} strides ${formatTuple(tensor.strides)} + ${tensor.offset}`}
          </span>
        </label>
      ))}
      {views.length > OTHERS_LISTED && (
        <span class="muted">{`and ${views.length - OTHERS_LISTED} more`}</span>
      )}
    </fieldset>
  );
}
