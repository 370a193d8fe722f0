// Findings: what is shown about one, and how many there are of which kind.
import type { Finding, OpNode, Severity, Snapshot } from "../ir/types.js";
import { formatPlural } from "./format.js";
import {
  type Place,
  placeOf,
  type StorageUse,
  storageUse,
  type TensorUse,
  tensorLabel,
} from "./inspect.js";
import { rowAt, type Tables } from "./tables.js";

/** A line that plays a part: "saved here", "used here". */
export interface RelatedPlace {
  readonly role: string;
  readonly place: Place;
}

export interface FindingDetails {
  readonly id: number;
  readonly finding: Finding;
  readonly culprit: Place | null;
  /** The related lines in their order, then where it showed, if that is none of them. */
  readonly related: readonly RelatedPlace[];
  readonly nodes: readonly { readonly id: number; readonly node: OpNode }[];
  readonly tensors: readonly TensorUse[];
  readonly storages: readonly StorageUse[];
}

const SEVERITIES: readonly Severity[] = ["error", "warning", "info"];

/** Join the tables for one finding; a row that is missing is left out. */
export function findingDetails(tables: Tables, id: number): FindingDetails | null {
  const { snapshot } = tables;
  const finding = rowAt(snapshot.findings, id);
  if (finding === null) return null;
  return {
    id,
    finding,
    culprit: placeOf(snapshot, finding.culprit),
    related: relatedPlaces(snapshot, finding),
    nodes: finding.nodes.flatMap((row) => {
      const node = rowAt(snapshot.nodes, row);
      return node === null ? [] : [{ id: row, node }];
    }),
    tensors: tensorUses(snapshot, finding),
    storages: storageUses(tables, finding),
  };
}

function relatedPlaces(snapshot: Snapshot, finding: Finding): RelatedPlace[] {
  const places = finding.related.flatMap((site, position): RelatedPlace[] => {
    const place = placeOf(snapshot, site);
    const role = finding.roles[position] || "related";
    return place === null ? [] : [{ role, place }];
  });
  const symptom = placeOf(snapshot, finding.symptom);
  const named = [finding.culprit, ...finding.related].includes(finding.symptom);
  const all =
    symptom === null || named
      ? places
      : [...places, { role: "shows here", place: symptom }];
  return merged(all);
}

/** A place with several roles is listed once: "saved here, created here". */
function merged(places: readonly RelatedPlace[]): RelatedPlace[] {
  const byLine = new Map<string, RelatedPlace>();
  for (const { role, place } of places) {
    const line = `${place.site.file}:${place.site.line}`;
    const before = byLine.get(line);
    const roles = before?.role.split(", ") ?? [];
    if (!roles.includes(role)) roles.push(role);
    byLine.set(line, { role: roles.join(", "), place: before?.place ?? place });
  }
  return [...byLine.values()];
}

/** The tensors named by the finding, else all that look into its storages. */
function tensorUses(snapshot: Snapshot, finding: Finding): TensorUse[] {
  const named = finding.tensors.length > 0;
  const ids = named
    ? finding.tensors
    : finding.storages.flatMap((id) => rowAt(snapshot.storages, id)?.tensors ?? []);
  const role = named ? "of the finding" : "in the storage";
  return [...new Set(ids)].flatMap((id) => {
    const tensor = rowAt(snapshot.tensors, id);
    return tensor === null ? [] : [{ role, id, tensor }];
  });
}

function storageUses(tables: Tables, finding: Finding): StorageUse[] {
  const { tensors } = tables.snapshot;
  return finding.storages.flatMap((storage) => {
    const named = finding.tensors.flatMap((id) => {
      const tensor = rowAt(tensors, id);
      return tensor?.storage === storage ? [tensorLabel(id, tensor)] : [];
    });
    return storageUse(tables, storage, named) ?? [];
  });
}

/** "1 error, 2 warnings", the worst first. */
export function countSentence(findings: readonly Finding[]): string {
  return SEVERITIES.flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    if (count === 0) return [];
    return [severity === "info" ? `${count} info` : formatPlural(count, severity)];
  }).join(", ");
}

/** The worst severity of some findings; null where there are none. */
export function worstOf(findings: readonly Finding[]): Severity | null {
  const found = new Set(findings.map((finding) => finding.severity));
  return SEVERITIES.find((severity) => found.has(severity)) ?? null;
}

/** The findings that point at a node, in their order. */
export function findingsOfNode(
  snapshot: Snapshot,
  node: number,
): { readonly id: number; readonly finding: Finding }[] {
  return snapshot.findings.flatMap((finding, id) =>
    finding.nodes.includes(node) ? [{ id, finding }] : [],
  );
}

/** The nodes to mark for a finding, each with the look of its severity. */
export function marksOf(finding: Finding | null): ReadonlyMap<number, Severity> {
  if (finding === null) return new Map();
  return new Map(finding.nodes.map((node) => [node, finding.severity]));
}

/** What the program raised, as far as an event tells: "RuntimeError: …". */
export function raisedError(snapshot: Snapshot): string | null {
  return snapshot.events.findLast((event) => event.kind === "error")?.text || null;
}

/** Whether something failed: then the cause comes before the graph. */
export function isFailure(snapshot: Snapshot): boolean {
  const { findings, nodes } = snapshot;
  if (findings.length === 0) return false;
  return worstOf(findings) === "error" || nodes.length === 0;
}

/** What a screen reader hears when a finding is chosen. */
export function findingSentence(details: FindingDetails, count: number): string {
  const { id, finding, culprit, nodes } = details;
  const parts = [
    `Finding ${id + 1} of ${count}`,
    `${finding.severity} ${finding.code} ${finding.slug}`,
  ];
  if (culprit !== null) parts.push(culprit.label);
  if (nodes.length > 0) parts.push(`${formatPlural(nodes.length, "node")} marked`);
  return `${parts.join(", ")}. ${finding.message}`;
}
