import { describe, expect, test } from "vitest";
import { receiveSnapshot, showFinding } from "./actions.js";
import { findingMarkdown } from "./finding-markdown.js";
import type { FindingDetails } from "./findings.js";
import { withFindings } from "./findings.test-util.js";
import { createStore } from "./store.js";

function detailsOf(id: number): FindingDetails {
  const store = createStore();
  receiveSnapshot(store, withFindings());
  showFinding(store, id);
  const details = store.derived.finding.value;
  if (details === null) throw new Error("no finding");
  return details;
}

describe("a finding as Markdown", () => {
  test("has the line, its chain in order, the fix and the change", () => {
    const details = detailsOf(0);
    const lines = details.related.map(({ place }) => place.site.text.trim());
    const line = details.culprit?.site.text.trim();
    expect(findingMarkdown(details, "gradtape 2.13.0")).toBe(
      [
        "**GV101 inplace-saved-output** (error)",
        "`y.add_(1)` wrote over the result that relu saved.",
        `\`train.py:5\`\n\n\`\`\`python\n${line}\n\`\`\``,
        [
          `1. made here: \`train.py:4\` \`${lines[0]}\``,
          `2. related: \`train.py:5\` \`${lines[1]}\``,
          `3. shows here: \`train.py:6\` \`${lines[2]}\``,
        ].join("\n"),
        "**Fix:** Write `y = y + 1`.",
        `\`\`\`diff\n${details.finding.diff}\n\`\`\``,
        "With an example: `gradviz explain GV101`",
        "Found by gradviz on gradtape 2.13.0.\n",
      ].join("\n\n"),
    );
  });

  test("leaves out what the finding does not have", () => {
    expect(findingMarkdown(detailsOf(2), "")).toBe(
      "**GV900 worth-knowing** (info)\n\nA lone ' is a character.\n\nWith an example: `gradviz explain GV900`\n",
    );
  });

  test("nothing of the program becomes markup, a mention or a hidden turn", () => {
    const details = detailsOf(0);
    const culprit = details.culprit;
    if (culprit === null) throw new Error("no culprit");
    const text = "x = '```'  # \u202e</details>";
    const told = findingMarkdown(
      {
        ...details,
        finding: {
          ...details.finding,
          message: "<img> of @you in #12 *a* `b*` [c](d)",
        },
        culprit: { ...culprit, label: "a`b.py:1", site: { ...culprit.site, text } },
      },
      "",
    );
    expect(told).toContain(
      "\\<img\\> of @\u200byou in #\u200b12 \\*a\\* `b*` \\[c\\](d)",
    );
    expect(told).toContain("``a`b.py:1``");
    expect(told).toContain("````python\nx = '```'  # \\u202e</details>\n````");
  });
});
