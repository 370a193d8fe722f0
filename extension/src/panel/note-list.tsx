// What could not be seen of a graph, a sentence each.
import { visibleText } from "../state/visible-text.js";
import { Section } from "./text.js";

export function NoteList({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <Section title="Notes" note={String(notes.length)}>
      <ul class="note-list">
        {notes.map((note) => (
          <li key={note} dir="auto">
            {visibleText(note)}
          </li>
        ))}
      </ul>
    </Section>
  );
}
