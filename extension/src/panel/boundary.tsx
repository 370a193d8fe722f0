// Keeps the rest of the view alive when one panel cannot draw its data.
import { Component, type ComponentChildren } from "preact";

interface Props {
  /** "the inspector": the subject of the sentence that stands in for the panel. */
  readonly what: string;
  /** A new value tries again. */
  readonly attempt: unknown;
  readonly children: ComponentChildren;
}

interface State {
  readonly failed: unknown;
  readonly attempt: unknown;
}

const NOTHING = Symbol("nothing failed");

export class Boundary extends Component<Props, State> {
  override state: State = { failed: NOTHING, attempt: this.props.attempt };

  static override getDerivedStateFromProps(props: Props, state: State): State | null {
    if (Object.is(props.attempt, state.attempt)) return null;
    return { failed: NOTHING, attempt: props.attempt };
  }

  static override getDerivedStateFromError(failed: unknown): Partial<State> {
    return { failed };
  }

  override render({ what, children }: Props, { failed }: State) {
    if (failed === NOTHING) return children;
    const reason = failed instanceof Error ? failed.message : String(failed);
    return (
      <p class="problem" role="alert">
        {`This part of ${what} could not be shown: ${reason}`}
      </p>
    );
  }
}
