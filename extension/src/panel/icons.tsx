// The icons of the toolbar, 16 by 16, drawn in the colour of the text.
import type { JSX } from "preact";

function icon(...paths: readonly string[]) {
  return function Icon(): JSX.Element {
    return (
      <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        {paths.map((path) => (
          <path key={path} d={path} />
        ))}
      </svg>
    );
  };
}

export const SearchIcon = icon(
  "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Z",
  "M10.5 10.5 14 14",
);
export const PreviousIcon = icon("M4 10l4-4 4 4");
export const StepBackwardIcon = icon("M10 4 6 8l4 4");
export const StepForwardIcon = icon("M6 4l4 4-4 4");
export const NextIcon = icon("M4 6l4 4 4-4");
export const LinkIcon = icon(
  "M6.5 9.5l3-3",
  "M7.5 5 9.2 3.3a2.4 2.4 0 0 1 3.5 3.5L11 8.5",
  "M8.5 11l-1.7 1.7a2.4 2.4 0 0 1-3.5-3.5L5 7.5",
);
export const FitIcon = icon(
  "M2.5 6V2.5H6",
  "M10 2.5h3.5V6",
  "M13.5 10v3.5H10",
  "M6 13.5H2.5V10",
);
export const CheckIcon = icon("M3.5 8.5l3 3 6-7");
export const PlusIcon = icon("M8 3v10", "M3 8h10");
export const MinusIcon = icon("M3 8h10");
export const CollapseIcon = icon("M5 2.5 8 5.5l3-3", "M5 13.5l3-3 3 3", "M3 8h10");
export const ExpandIcon = icon("M5 5.5 8 2.5l3 3", "M5 10.5l3 3 3-3", "M3 8h10");
export const TableIcon = icon("M2.5 3.5h11v9h-11Z", "M2.5 6.5h11", "M6.5 3.5v9");
export const GraphIcon = icon(
  "M8 2.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6Z",
  "M4 10.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6Z",
  "M12 10.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6Z",
  "M7 5.6 4.8 10.3",
  "M9 5.6l2.2 4.7",
);
export const AutoThemeIcon = icon(
  "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11Z",
  "M8 2.5v11",
  "M8 5h3.8",
  "M8 8h5.4",
  "M8 11h3.8",
);
export const LightThemeIcon = icon(
  "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6Z",
  "M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
);
export const DarkThemeIcon = icon("M13.2 9.8A5.7 5.7 0 0 1 6.2 2.8a5.5 5.5 0 1 0 7 7Z");
/** An octagon with a cross, a triangle, a circle: told apart by their outlines. */
export const ErrorIcon = icon(
  "M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3Z",
  "M5.8 5.8l4.4 4.4",
  "M10.2 5.8l-4.4 4.4",
);
export const WarningIcon = icon("M8 2 14.5 13.5h-13Z", "M8 6.5v3.2", "M8 11.6v.1");
export const InfoIcon = icon(
  "M8 1.8a6.2 6.2 0 1 1 0 12.4 6.2 6.2 0 0 1 0-12.4Z",
  "M8 7.2v4",
  "M8 4.8v.1",
);
export const TargetIcon = icon(
  "M8 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8Z",
  "M8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3",
);
export const OpenIcon = icon("M6.5 3.5h-3v9h9v-3", "M9 2.5h4.5V7", "M13.5 2.5 7.5 8.5");
export const ExportIcon = icon("M8 2v7.5", "M5 6.8 8 9.8l3-3", "M3 10.5v3h10v-3");
export const CloseIcon = icon("M4 4l8 8", "M12 4l-8 8");
export const PlayIcon = icon("M5 3.2v9.6l7.5-4.8Z");
export const PlayBackIcon = icon("M11 3.2v9.6L3.5 8Z");
export const PauseIcon = icon("M5.5 3.5v9", "M10.5 3.5v9");
export const StepOnIcon = icon("M4 4l4 4-4 4", "M11.5 4v8");
export const StepBackIcon = icon("M12 4 8 8l4 4", "M4.5 4v8");
export const FirstIcon = icon("M13 4 9 8l4 4", "M8.5 4l-4 4 4 4", "M2.8 4v8");
export const LastIcon = icon("M3 4l4 4-4 4", "M7.5 4l4 4-4 4", "M13.2 4v8");
