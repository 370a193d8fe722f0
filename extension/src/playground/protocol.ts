// What the page and its worker say to each other, and what the site tells the page.

/** What the site writes into the page: where things are, relative to the page. */
export interface Setup {
  /** The folder with `pyodide.mjs`, ending in a slash. */
  readonly pyodide: string;
  /** The folder with the wheels of packages, ending in a slash. */
  readonly wheels: string;
  readonly packages: readonly string[];
  /** The archive with gradviz and gradtape. */
  readonly sources: string;
  readonly worker: string;
  /** What all of it weighs, in MB, about. */
  readonly megabytes: number;
  /** Whom all of it comes from, in words. */
  readonly servers: string;
  /** Where the pages of findings are: `GV306.html` is added. */
  readonly findings: string;
}

/** A place in the program; lines and columns count from 1, in characters. */
export interface Site {
  readonly line: number;
  readonly end_line: number;
  readonly column: number | null;
  readonly end_column: number | null;
}

export interface Replacement {
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  readonly end_column: number;
  readonly text: string;
}

/** The part of docs/findings.schema.json that is shown. */
export interface Finding {
  readonly code: string;
  readonly slug: string;
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
  readonly fix: string;
  readonly culprit: Site | null;
  readonly edit: { readonly replacements: readonly Replacement[] } | null;
}

export interface Found {
  readonly verdict: string;
  readonly findings: readonly Finding[];
}

/** What came of a run: tools/in_browser.py writes it. */
export interface Came {
  readonly status: number;
  readonly page: string | null;
  readonly found: Found | null;
}

export type Request =
  | { readonly kind: "start"; readonly setup: Setup }
  | { readonly kind: "run"; readonly program: string };

export type Reply =
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "ready"; readonly python: string }
  | { readonly kind: "said"; readonly text: string }
  | { readonly kind: "came"; readonly came: Came; readonly seconds: number }
  | { readonly kind: "failed"; readonly text: string };
