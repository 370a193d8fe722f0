// A button that opens a menu: arrow keys walk, Enter chooses, Esc and a click outside close.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface MenuItem {
  readonly id: string;
  readonly title: string;
  readonly onChoose: () => void;
}

/** Where a key leads from a row of the menu, which goes round. */
function target(key: string, at: number, count: number): number | undefined {
  const rows: Readonly<Record<string, number>> = {
    ArrowDown: (at + 1) % count,
    ArrowUp: (at - 1 + count) % count,
    Home: 0,
    End: count - 1,
  };
  return rows[key];
}

export function Menu({
  label,
  items,
  testId,
  children,
}: {
  label: string;
  items: readonly MenuItem[];
  testId: string;
  children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const rows = () => [
    ...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? []),
  ];
  useEffect(() => {
    if (isOpen) rows()[0]?.focus();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const all = rows();
    const at = all.indexOf(event.target as HTMLElement);
    const next = target(event.key, at, all.length);
    if (next !== undefined) all[next]?.focus();
    else if (event.key === "Escape") close();
    else {
      if (event.key === "Tab") setOpen(false);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const onFocusOut = (event: FocusEvent) => {
    if (!root.current?.contains(event.relatedTarget as Node | null)) setOpen(false);
  };
  return (
    <div ref={root} class="menu">
      <button
        ref={button}
        type="button"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        data-testid={testId}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && (
        <div
          role="menu"
          aria-label={label}
          tabIndex={-1}
          onKeyDown={onKeyDown}
          onFocusOut={onFocusOut}
        >
          {items.map(({ id, title, onChoose }) => (
            <button
              key={id}
              type="button"
              role="menuitem"
              tabIndex={-1}
              data-testid={`${testId}-${id}`}
              onClick={() => {
                close();
                onChoose();
              }}
            >
              {title}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
