// What the colours of the nodes can say.

export type ColorBy =
  | "family"
  | "gradient"
  | "value"
  | "scope"
  | "dtype"
  | "device"
  | "storage"
  | "time"
  | "memory"
  | "version";

/** In the order of the menu, with what the menu calls them. */
export const COLOR_LABELS: Readonly<Record<ColorBy, string>> = {
  family: "kind of op",
  gradient: "gradient norm",
  value: "value",
  scope: "module",
  dtype: "dtype",
  device: "device",
  storage: "shared storage",
  time: "time in backward",
  memory: "memory kept",
  version: "version",
};

export const COLOR_BY = Object.keys(COLOR_LABELS) as readonly ColorBy[];
