// A button to the next or the previous one of several.
import { NextIcon, PreviousIcon } from "./icons.js";

interface Props {
  readonly label: string;
  readonly keys: string;
  readonly step: 1 | -1;
  readonly disabled?: boolean;
  readonly onStep: (step: 1 | -1) => void;
}

export function StepButton({ label, keys, step, disabled = false, onStep }: Props) {
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={`${label} (${keys})`}
      disabled={disabled}
      onClick={() => onStep(step)}
    >
      {step === 1 ? <NextIcon /> : <PreviousIcon />}
    </button>
  );
}
