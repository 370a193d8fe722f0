// The slider of the timeline, over a band that shows where its passes lie.
import { seek } from "../state/actions-timeline.js";
import { eventText } from "../state/event-words.js";
import { formatPlural } from "../state/format.js";
import type { Store } from "../state/store.js";
import type { Moment, Phase, Timeline } from "../state/timeline.js";
import { useStore } from "./context.js";

const LABELLED_PHASES = 12; // more of them have no room for words

/** The position after PageUp and PageDown: where the next phase begins or this one. */
function phaseStep(phases: readonly Phase[], position: number, step: 1 | -1): number {
  const ends = [0, ...phases.map(({ to }) => to)];
  const beyond = ends.filter((end) => (step === 1 ? end > position : end < position));
  return (step === 1 ? beyond[0] : beyond.at(-1)) ?? position;
}

export function Track({
  timeline,
  moment,
}: {
  timeline: Timeline;
  moment: Moment | null;
}) {
  const store = useStore();
  const { length, phases } = timeline;
  const position = moment?.position ?? length;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "PageDown" ? 1 : event.key === "PageUp" ? -1 : null;
    if (step === null) return;
    event.preventDefault();
    seek(store, phaseStep(phases, position, step));
  };
  return (
    <div class="timeline-track" style={{ "--at": `${(100 * position) / length}%` }}>
      <Phases phases={phases} length={length} />
      <DrawnStep length={length} />
      <input
        type="range"
        min={0}
        max={length}
        step={1}
        value={position}
        aria-label="Event of the recording"
        aria-valuetext={valueText(store, timeline, moment)}
        data-testid="timeline-slider"
        onInput={(event) => seek(store, Number(event.currentTarget.value))}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}

function valueText(store: Store, { length }: Timeline, moment: Moment | null): string {
  const snapshot = store.data.snapshot.value;
  if (moment === null) return `The whole recording, ${formatPlural(length, "event")}`;
  if (moment.event === null || snapshot === null) return "Before the first event";
  return `Event ${moment.position} of ${length}: ${eventText(snapshot, moment.event)}`;
}

/** The stretch of the step that is drawn. */
function DrawnStep({ length }: { length: number }) {
  const { steps, step } = useStore().derived;
  const own = steps.value[step.value ?? -1];
  if (own === undefined) return null;
  const from = (100 * own.from) / length;
  const width = (100 * (own.to - own.from)) / length;
  return (
    <div
      class="timeline-step"
      aria-hidden="true"
      data-testid="timeline-step"
      style={{ left: `${from}%`, width: `${width}%` }}
    />
  );
}

const PHASE_COLOURS: Readonly<Record<Phase["kind"], string>> = {
  forward: "var(--phase-forward)",
  backward: "var(--phase-backward)",
  update: "var(--phase-update)",
};

/** "backward 2" */
export function phaseName({ kind, number }: Phase): string {
  return kind === "update" ? `after pass ${number}` : `${kind} ${number}`;
}

/** Where forward calls, backward passes and updates lie, as a band behind the slider. */
function Phases({ phases, length }: { phases: readonly Phase[]; length: number }) {
  const percent = (position: number) => `${((100 * position) / length).toFixed(3)}%`;
  const stops = phases.map(({ kind, from, to }) => {
    return `${PHASE_COLOURS[kind]} ${percent(from)} ${percent(to)}`;
  });
  const words = phases.length <= LABELLED_PHASES ? phases : [];
  return (
    <div
      class="timeline-phases"
      aria-hidden="true"
      style={{ background: `linear-gradient(90deg, ${stops.join(", ")})` }}
    >
      {words.map((phase) => (
        <span
          key={phase.from}
          style={{ left: percent(phase.from), width: percent(phase.to - phase.from) }}
        >
          {phase.kind !== "update" && <b class="name">{phaseName(phase)}</b>}
          {phase.kind !== "update" && <b class="number">{phase.number}</b>}
        </span>
      ))}
    </div>
  );
}
