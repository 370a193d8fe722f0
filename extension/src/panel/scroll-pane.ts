// Scrolls the pane beside the graph alone; scrollIntoView would move the page as well.

/** Bring an element to the top of its pane; what heads the first one stays above it. */
export function scrollPaneTo(
  element: HTMLElement | null,
  { isFirst = false } = {},
): void {
  const pane = element?.closest(".inspector");
  if (!element || !pane) return;
  const above = element.getBoundingClientRect().top - pane.getBoundingClientRect().top;
  pane.scrollTop = isFirst ? 0 : pane.scrollTop + above;
}
