// A row of switches of which one is on, each with the number of rows behind it.
import { formatCount } from "../state/format.js";

interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly count: number;
}

export function Choices<Value extends string>({
  legend,
  choices,
  chosen,
  onChoose,
}: {
  legend: string;
  choices: readonly Choice<Value>[];
  chosen: Value;
  onChoose: (value: Value) => void;
}) {
  return (
    <fieldset class="choices">
      <legend class="unseen">{legend}</legend>
      {choices.map(({ value, label, count }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          onClick={() => onChoose(value)}
        >
          {label} <span class="count">{formatCount(count)}</span>
        </button>
      ))}
    </fieldset>
  );
}
