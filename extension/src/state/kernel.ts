// What a living kernel offers a view besides its graph, and what the view asks for.

/** A gradient that waits to be used, in words and by its first values; "" for none. */
export interface WaitingGradient {
  readonly words: string;
  readonly values: string;
}

/** The node before which a stepped pass waits. */
export interface Stop {
  /** Nodes that ran before it, of so many. */
  readonly number: number;
  readonly total: number;
  readonly name: string;
  /** Whose .grad is about to change; "" for other nodes. */
  readonly leaf: string;
  readonly module: string;
  /** Its row in the snapshot. */
  readonly node: number | null;
  /** Why the pass stopped here, "" after a plain step. */
  readonly reason: string;
  readonly gradients: readonly WaitingGradient[];
}

export type StepCommand = "step" | "over" | "run_to" | "resume" | "abort";

export interface Stepping {
  /** null once the pass is over; then `outcome` says how it ended. */
  readonly stop: Stop | null;
  readonly outcome: string;
  readonly breakpoints: readonly string[];
  /** Why the last request failed, "" if it did not. */
  readonly error: string;
}

/** What the traceback of a failed cell keeps alive. */
export interface Release {
  /** What was released, in a sentence; "" before it was asked for. */
  readonly said: string;
  readonly error: string;
}

/** An entry in which backward and finite differences disagree; numbers as text. */
export interface WrongEntry {
  readonly place: string;
  readonly backward: string;
  readonly numeric: string;
  readonly ratio: string;
}

/** The check of one node's derivative. */
export interface Check {
  /** The row of the node that was checked last. */
  readonly node: number | null;
  readonly said: string;
  readonly agrees: boolean;
  readonly entries: readonly WrongEntry[];
  readonly error: string;
}

/** What reaches a parameter, and what would: norms and a cosine as text. */
export interface Arrival {
  readonly name: string;
  /** Its row in the snapshot. */
  readonly node: number | null;
  readonly did: string;
  readonly would: string;
  readonly cosine: string;
}

/** A backward pass with some changes, which never ran. */
export interface WhatIf {
  /** Each change in words, in the order in which they were asked for. */
  readonly changes: readonly string[];
  /** The program's hooks, which were left out. */
  readonly hooks: readonly string[];
  readonly rows: readonly Arrival[];
  readonly error: string;
}

/** What a node gave, as far as the program still holds it, in numbers. */
export interface Values {
  /** The row of the node that was asked for last. */
  readonly node: number | null;
  readonly index: string;
  readonly shown: readonly { readonly name: string; readonly text: string }[];
  readonly error: string;
}

/** The trait `_services` of gradviz/widget.py. */
export interface Services {
  /** The number of the last request that was answered. */
  readonly answered: number;
  readonly stepping?: Stepping;
  readonly release?: Release;
  readonly check?: Check;
  readonly what_if?: WhatIf;
  readonly values?: Values;
}

export type ServiceName = Exclude<keyof Services, "answered">;

/** What to ask; the other members are what the service wants to know. */
export interface KernelRequest {
  readonly service: ServiceName;
  readonly [argument: string]: string | number | boolean;
}

export interface KernelLink {
  /** Call back with what the kernel offers, now and after each change; the answer ends
   * the subscription. A kernel that is gone answers nothing any more. */
  follow(callback: (services: Services, alive: boolean) => void): () => void;
  ask(request: KernelRequest & { readonly number: number }): void;
}

export const KERNEL_GONE = "The kernel is gone: run the cell again.";
