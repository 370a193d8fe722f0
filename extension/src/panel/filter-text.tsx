// The field that filters the rows of a table.

interface Props {
  readonly hint: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

export function FilterText({ hint, text, onText }: Props) {
  return (
    <input
      type="text"
      class="filter"
      placeholder={`Filter rows: ${hint}`}
      aria-label="Filter rows"
      value={text}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}
