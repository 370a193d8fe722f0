// A sentence of a rule: `code` between backticks, the rest as prose.
import { visibleText } from "../state/visible-text.js";

export function Sentence({ text }: { text: string }) {
  // Odd pieces stood between two backticks; a single last one is only a character.
  const pieces = text.split("`");
  const lone = pieces.length % 2 === 0 ? pieces.length - 1 : -1;
  return (
    <bdi class="sentence">
      {pieces.map((piece, at) => {
        if (at === lone) return `\`${visibleText(piece)}`;
        if (at % 2 === 0) return visibleText(piece);
        return (
          <code key={at} dir="ltr">
            {visibleText(piece)}
          </code>
        );
      })}
    </bdi>
  );
}
