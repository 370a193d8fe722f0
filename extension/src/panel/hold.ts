// Whether the user holds the view: since a press inside of it, until one outside.

/** Tell of each change until the signal.
 *
 * A press into another frame, or one outside of the frame that this view stands in, takes
 * the focus of the window along. */
export function watchHold(
  host: HTMLElement,
  signal: AbortSignal,
  tell: (held: boolean) => void,
): void {
  const page = host.ownerDocument;
  const options = { capture: true, signal };
  page.addEventListener(
    "pointerdown",
    (event) => tell(event.composedPath().includes(host)),
    options,
  );
  page.defaultView?.addEventListener("blur", () => tell(false), { signal });
}
