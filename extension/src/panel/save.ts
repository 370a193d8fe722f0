// The files that the view can write of what it shows, and how a browser saves them.
import { unfolded } from "../graph/fold.js";
import { writeJson } from "../ir/write-json.js";
import { wholePng, wholeSvg } from "../render/whole.js";
import { writeDot } from "../scene/dot.js";
import { writeBookmark } from "../state/bookmark.js";
import { visibleText } from "../state/visible-text.js";
import type { AppContext } from "./context.js";
import { pageFile } from "./page-file.js";

const NOTHING_DRAWN = "There is no picture yet: the graph is still being laid out.";
const REVOKE_AFTER_MS = 60_000; // some browsers read the file only after a question

export type FileForm =
  | "svg"
  | "png"
  | "view.svg"
  | "view.png"
  | "dot"
  | "json"
  | "html";

interface Form {
  readonly form: FileForm;
  readonly title: string;
  readonly write: (app: AppContext, title: string) => Promise<BlobPart> | BlobPart;
  readonly type: string;
}

const FORMS: readonly Form[] = [
  {
    form: "svg",
    title: "Picture (SVG)",
    type: "image/svg+xml",
    write: (app, title) => wholeSvg(wholeOf(app), title, "whole"),
  },
  {
    form: "png",
    title: "Picture (PNG)",
    type: "image/png",
    write: (app) => wholePng(wholeOf(app), document, "whole"),
  },
  {
    form: "view.svg",
    title: "What is seen (SVG)",
    type: "image/svg+xml",
    write: (app, title) => wholeSvg(wholeOf(app), title, "seen"),
  },
  {
    form: "view.png",
    title: "What is seen (PNG)",
    type: "image/png",
    write: (app) => wholePng(wholeOf(app), document, "seen"),
  },
  {
    form: "dot",
    title: "For Graphviz (DOT)",
    type: "text/vnd.graphviz",
    write: (app, title) => writeDot(wholeOf(app).parts.scene, title),
  },
  {
    form: "html",
    title: "Web page (HTML)",
    type: "text/html",
    write: async (app) => {
      const view = writeBookmark(app.store);
      return pageFile(snapshotOf(app), (await app.bundle?.()) ?? "", view);
    },
  },
  {
    form: "json",
    title: "Recording (JSON)",
    type: "application/json",
    write: (app) => writeJson(snapshotOf(app)),
  },
];

/** The forms that this host can write: a page needs the viewer's own script. */
export function formsFor(app: AppContext): readonly Form[] {
  return FORMS.filter(({ form }) => form !== "html" || app.bundle !== null);
}

/** Write a file and hand it to the browser; the answer is its name. */
export async function saveFile(app: AppContext, { form, write, type }: Form) {
  const snapshot = snapshotOf(app);
  const name = `${fileStem(snapshot.title)}.${form === "json" ? "gradviz.json" : form}`;
  const title = visibleText(snapshot.title || "graph");
  const blob = new Blob([await write(app, title)], { type });
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS);
  return name;
}

function wholeOf({ view }: AppContext) {
  const whole = view.current?.whole() ?? null;
  if (whole === null) throw new Error(NOTHING_DRAWN);
  return whole;
}

function snapshotOf({ store }: AppContext) {
  const snapshot = store.data.snapshot.value;
  if (snapshot === null) throw new Error(NOTHING_DRAWN);
  return unfolded(snapshot);
}

/** A title as the name of a file on any system. */
function fileStem(title: string): string {
  const words = title.normalize("NFC").replace(/[^\p{L}\p{N}._-]+/gu, "-");
  return words.replace(/^[-.]+|[-.]+$/g, "").slice(0, 80) || "graph";
}
