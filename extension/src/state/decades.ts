// The axis of gradient norms: fixed decades, the same for every model.

export interface Decades {
  /** Exponents of ten at its ends. */
  readonly from: number;
  readonly to: number;
}

/** Of norms: below the first hardly anything learns, above the last nothing holds. */
export const NORM_DECADES: Decades = { from: -8, to: 4 };
/** Of what a step changes of a weight, as a share of it. */
export const RATIO_DECADES: Decades = { from: -8, to: 0 };

/** Where a value lies on the axis, from 0 to 1; what lies beyond stands at its end. */
export function shareOf({ from, to }: Decades, value: number): number {
  if (!(value > 0)) return 0;
  return Math.min(1, Math.max(0, (Math.log10(value) - from) / (to - from)));
}

/** The end of the axis that a value lies beyond. */
export function beyond({ from, to }: Decades, value: number): "" | "below" | "above" {
  const power = Math.log10(value);
  return power < from ? "below" : power > to ? "above" : "";
}

/** Every so many powers of ten, as exponents. */
export function ticksOf({ from, to }: Decades, every: number): number[] {
  const count = Math.floor((to - from) / every);
  return Array.from({ length: count + 1 }, (_, tick) => from + tick * every);
}

export function tickText(power: number): string {
  return power === 0 ? "1" : `1e${power}`;
}
