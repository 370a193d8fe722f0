// How bad a finding is: a shape and a word, so that colour is never the only sign.
import type { Severity } from "../ir/types.js";
import { ErrorIcon, InfoIcon, WarningIcon } from "./icons.js";

export const SEVERITY_ICONS: Readonly<Record<Severity, typeof ErrorIcon>> = {
  error: ErrorIcon,
  warning: WarningIcon,
  info: InfoIcon,
};

export function SeverityWord({ severity }: { severity: Severity }) {
  const Icon = SEVERITY_ICONS[severity];
  return (
    <b class={`severity ${severity}`}>
      <Icon />
      {severity}
    </b>
  );
}
