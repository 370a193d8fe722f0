// Reads one step as Python writes it: ".transpose(0, 1)", "view(2, -1)", "[1:, ..., ::2]".

export interface Slice {
  readonly start: number | null;
  readonly stop: number | null;
  readonly step: number;
}

export type Step =
  | {
      readonly kind: "call";
      readonly name: string;
      readonly numbers: readonly number[];
      readonly lists: readonly (readonly number[])[];
    }
  | { readonly kind: "index"; readonly items: readonly Item[] };

/** One part of an index; null is None, a new dimension. */
export type Item = number | null | Slice | "...";

const CALL = /^\.?([a-zA-Z_]+)\((.*)\)$/;
const INDEX = /^\[(.*)\]$/;
const ALL: Slice = { start: null, stop: null, step: 1 };

const PART = /\.?[a-zA-Z_]+\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]/g;

/** ".t()[1:]" is two steps; what cannot be told apart stays one. */
export function splitSteps(text: string): string[] {
  const trimmed = text.trim();
  const parts = trimmed.match(PART) ?? [];
  return parts.length > 1 && parts.join("") === trimmed ? parts : [trimmed];
}

/** The step, or one sentence that says what cannot be read. */
export function parseStep(text: string): Step | string {
  const trimmed = text.trim().slice(0, 200);
  const call = CALL.exec(trimmed);
  if (call !== null) return parseCall(call[1] ?? "", call[2] ?? "");
  const index = INDEX.exec(trimmed);
  if (index !== null) return parseIndex(index[1] ?? "");
  return 'Write a step as Python would: ".transpose(0, 1)" or "[1:, ::2]".';
}

function parseCall(name: string, inside: string): Step | string {
  const lists: (readonly number[])[] = [];
  const rest = inside.replace(/[([]([^()[\]]*)[)\]]/g, (_, list: string) => {
    lists.push(numbersIn(list) ?? [Number.NaN]);
    return "";
  });
  const numbers = numbersIn(rest);
  if (numbers === null || lists.flat().some(Number.isNaN)) {
    return `The arguments of ${name} are whole numbers, or lists of them.`;
  }
  return { kind: "call", name, numbers, lists };
}

function numbersIn(text: string): number[] | null {
  const words = text.split(",").flatMap((word) => word.trim() || []);
  const numbers = words.map((word) => (/^-?\d{1,9}$/.test(word) ? Number(word) : NaN));
  return numbers.some(Number.isNaN) ? null : numbers;
}

function parseIndex(inside: string): Step | string {
  const words = inside.split(",").map((word) => word.trim());
  const items: Item[] = [];
  for (const [at, word] of words.entries()) {
    if (word === "" && at === words.length - 1 && at > 0) continue; // "[1,]"
    if (word === "None") items.push(null);
    else if (word === "..." && !items.includes("...")) items.push("...");
    else if (/^-?\d{1,9}$/.test(word)) items.push(Number(word));
    else {
      const slice = parseSlice(word);
      if (slice === null) return `"${word}" is not an index or a slice.`;
      items.push(slice);
    }
  }
  return { kind: "index", items };
}

function parseSlice(word: string): Slice | null {
  if (word === ":") return ALL;
  const parts = word.split(":").map((part) => part.trim());
  if (parts.length < 2 || parts.length > 3) return null;
  if (parts.some((part) => !/^(-?\d{1,9})?$/.test(part))) return null;
  const number = (part: string | undefined) => (part ? Number(part) : null);
  return {
    start: number(parts[0]),
    stop: number(parts[1]),
    step: number(parts[2]) ?? 1,
  };
}
