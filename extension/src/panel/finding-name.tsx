// How a finding is called: how grave it is, its code, its words.
import type { Finding } from "../ir/types.js";
import { SeverityWord } from "./severity.js";
import { Name } from "./text.js";

export function FindingName({ finding }: { finding: Finding }) {
  return (
    <>
      <SeverityWord severity={finding.severity} />
      <span class="code">
        <Name text={finding.code} />
      </span>
      <span class="slug">
        <Name text={finding.slug} />
      </span>
    </>
  );
}
