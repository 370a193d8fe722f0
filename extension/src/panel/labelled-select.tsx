// A list to choose one of several from, with its name beside it where there is room.
export function LabelledSelect<Value extends string>({
  label,
  title,
  value,
  labels,
  disabled = false,
  testId,
  onChoose,
}: {
  label: string;
  title?: string;
  value: Value;
  /** What each value is called, in the order of the list. */
  labels: Readonly<Record<Value, string>>;
  disabled?: boolean;
  testId: string;
  onChoose: (value: Value) => void;
}) {
  const values = Object.keys(labels) as Value[];
  const onChange = (event: { currentTarget: HTMLSelectElement }) => {
    const chosen = values.find((each) => each === event.currentTarget.value);
    if (chosen !== undefined) onChoose(chosen);
  };
  return (
    <label class="choice">
      <span>{label}</span>
      <select
        aria-label={label}
        title={title}
        value={value}
        disabled={disabled}
        onChange={onChange}
        data-testid={testId}
      >
        {values.map((each) => (
          <option key={each} value={each}>
            {labels[each]}
          </option>
        ))}
      </select>
    </label>
  );
}
