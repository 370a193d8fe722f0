// A button that opens a menu: arrow keys walk, Enter chooses, Esc and a click outside close.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface MenuItem {
  readonly id: string;
  readonly title: string;
  readonly onChoose: () => void;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

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
    const step = STEPS[event.key];
    const target =
      step !== undefined
        ? all[(at + step + all.length) % all.length]
        : event.key === "Home"
          ? all[0]
          : event.key === "End"
            ? all.at(-1)
            : null;
    if (target) target.focus();
    else if (event.key === "Escape") close();
    else if (event.key === "Tab") {
      setOpen(false);
      return;
    } else return;
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
