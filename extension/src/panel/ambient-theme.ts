// What "auto" means here: the notebook's own theme where there is one, else the system's.

const DARK_QUERY = "(prefers-color-scheme: dark)";

/** The theme that the page around the view asks for. */
export function ambientTheme(page: Document): "light" | "dark" {
  const { jpThemeLight, vscodeThemeKind } = page.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "false" ? "dark" : "light";
  if (vscodeThemeKind !== undefined) {
    return /dark|^vscode-high-contrast$/.test(vscodeThemeKind) ? "dark" : "light";
  }
  const system = page.defaultView?.matchMedia?.(DARK_QUERY).matches ?? false;
  return system ? "dark" : "light";
}

/** Call back now and whenever the ambient theme may have changed, until the signal. */
export function watchAmbientTheme(
  page: Document,
  signal: AbortSignal,
  callback: (theme: "light" | "dark") => void,
): void {
  const tell = () => callback(ambientTheme(page));
  tell();
  page.defaultView
    ?.matchMedia?.(DARK_QUERY)
    .addEventListener("change", tell, { signal });
  const observer = new MutationObserver(tell);
  observer.observe(page.body, {
    attributes: true,
    attributeFilter: [
      "data-jp-theme-light",
      "data-jp-theme-name",
      "data-vscode-theme-kind",
    ],
  });
  signal.addEventListener("abort", () => observer.disconnect());
}
