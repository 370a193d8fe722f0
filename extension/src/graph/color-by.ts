// What the colours of the nodes can say.

/** family: kind of op; gradient: norm of what flowed back; scope: module; dtype: number type. */
export type ColorBy = "family" | "gradient" | "scope" | "dtype";

export const COLOR_BY: readonly ColorBy[] = ["family", "gradient", "scope", "dtype"];
