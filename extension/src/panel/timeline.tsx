// The strip under the graph that plays the recording back, event by event.
import { useEffect } from "preact/hooks";
import { goToNode } from "../state/actions.js";
import {
  advance,
  leaveTimeline,
  PLAY_SPEEDS,
  play,
  runToSelected,
  seek,
  setPlaySpeed,
  stepEvent,
} from "../state/actions-timeline.js";
import { eventParts } from "../state/event-words.js";
import { formatCount, formatPlural } from "../state/format.js";
import type { Store } from "../state/store.js";
import { type Moment, phaseAt, type Timeline } from "../state/timeline.js";
import { useStore } from "./context.js";
import {
  CloseIcon,
  FirstIcon,
  LastIcon,
  PauseIcon,
  PlayBackIcon,
  PlayIcon,
  StepBackIcon,
  StepOnIcon,
  TargetIcon,
} from "./icons.js";
import { Name } from "./text.js";
import { phaseName, Track } from "./timeline-track.js";

/** Let time pass while the timeline plays. */
function usePlaying(store: Store): void {
  const { playing, playSpeed } = store.ui;
  const isPlaying = playing.value !== 0;
  useEffect(() => {
    if (!isPlaying) return;
    let frame = 0;
    let before = performance.now();
    let rest = 0; // of an event, that has not been played yet
    const tick = (now: number) => {
      rest += ((now - before) / 1000) * playSpeed.value;
      before = now;
      const whole = Math.floor(rest);
      rest -= whole;
      if (whole > 0) advance(store, whole);
      if (playing.value !== 0) frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(frame);
  }, [store, isPlaying, playing, playSpeed]);
}

export function TimelineDock() {
  const store = useStore();
  usePlaying(store);
  const { timeline, moment } = store.derived;
  if (timeline.value === null) return null;
  return (
    <section class="timeline" aria-label="Timeline" data-testid="timeline">
      <div class="timeline-row">
        <Transport />
        <Track timeline={timeline.value} moment={moment.value} />
        <Extras timeline={timeline.value} />
      </div>
      {moment.value !== null && (
        <Caption timeline={timeline.value} moment={moment.value} />
      )}
    </section>
  );
}

interface Press {
  readonly name: string;
  readonly title: string;
  readonly Icon: typeof PlayIcon;
  readonly press: () => void;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  readonly seldom?: boolean;
}

function PressButton({ name, title, Icon, press, disabled, pressed, seldom }: Press) {
  return (
    <button
      type="button"
      aria-label={name}
      title={title}
      disabled={disabled}
      aria-pressed={pressed}
      class={seldom ? "seldom" : undefined}
      onClick={press}
    >
      <Icon />
    </button>
  );
}

function Transport() {
  const store = useStore();
  const { ui, derived } = store;
  const length = derived.timeline.value?.length ?? 0;
  const at = ui.position.value;
  const playing = ui.playing.value;
  const presses: readonly Press[] = [
    {
      name: "First event",
      title: "Before the first event",
      Icon: FirstIcon,
      press: () => seek(store, 0),
      disabled: at === 0,
      seldom: true,
    },
    {
      name: "Previous event",
      title: "Previous event (,)",
      Icon: StepBackIcon,
      press: () => stepEvent(store, -1),
      disabled: at === 0,
    },
    {
      name: playing === -1 ? "Pause" : "Play backwards",
      title: playing === -1 ? "Pause (p)" : "Play backwards",
      Icon: playing === -1 ? PauseIcon : PlayBackIcon,
      press: () => play(store, playing === -1 ? 0 : -1),
      pressed: playing === -1,
      seldom: true,
    },
    {
      name: playing === 1 ? "Pause" : "Play",
      title: playing === 1 ? "Pause (p)" : "Play the recording (p)",
      Icon: playing === 1 ? PauseIcon : PlayIcon,
      press: () => play(store, playing === 1 ? 0 : 1),
      pressed: playing === 1,
    },
    {
      name: "Next event",
      title: "Next event (.)",
      Icon: StepOnIcon,
      press: () => stepEvent(store, 1),
      disabled: at === length,
    },
    {
      name: "Last event",
      title: "After the last event",
      Icon: LastIcon,
      press: () => seek(store, length),
      disabled: at === length,
      seldom: true,
    },
  ];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div class="group" role="group" aria-label="Playback">
      {presses.map((press) => (
        <PressButton key={press.Icon} {...press} />
      ))}
    </div>
  );
}

function Extras({ timeline }: { timeline: Timeline }) {
  const store = useStore();
  const { ui } = store;
  const isNode = ui.selection.value?.kind === "node";
  const at = ui.position.value;
  const { length } = timeline;
  return (
    <>
      <span class="timeline-count" data-testid="timeline-count">
        {at === null
          ? formatPlural(length, "event")
          : `${formatCount(at)} / ${formatCount(length)}`}
      </span>
      <button
        type="button"
        aria-label="Run to the selected node"
        title={
          isNode ? "Run to the next event of the selected node" : "Select a node first"
        }
        disabled={!isNode}
        onClick={() => runToSelected(store)}
      >
        <TargetIcon />
      </button>
      <select
        value={ui.playSpeed.value}
        aria-label="Events a second"
        title="Events a second"
        onChange={(event) => setPlaySpeed(store, Number(event.currentTarget.value))}
      >
        {PLAY_SPEEDS.map((speed) => (
          <option key={speed} value={speed}>
            {`${speed}/s`}
          </option>
        ))}
      </select>
      {at !== null && (
        <button
          type="button"
          class="quiet"
          aria-label="Leave the timeline"
          title="Show the whole recording (Esc)"
          onClick={() => leaveTimeline(store)}
        >
          <CloseIcon />
        </button>
      )}
    </>
  );
}

/** What just happened, and how far the pass has come. */
function Caption({ timeline, moment }: { timeline: Timeline; moment: Moment }) {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  const phase = phaseAt(timeline.phases, moment.position);
  if (snapshot === null) return null;
  const { reached, taken, writes, event } = moment;
  const counts = [
    ...(phase === null || event === null ? [] : [phaseName(phase)]),
    `gradients at ${formatPlural(reached, "node")}`,
    `${formatCount(taken)} .grad`,
    formatPlural(writes, "write"),
  ];
  return (
    <div class="timeline-caption">
      <p data-testid="timeline-event" dir="auto">
        {event === null
          ? "Before the first event"
          : eventParts(snapshot, event).map((part, at) => {
              if (typeof part === "string") return part;
              const { name, node } = part;
              if (node === undefined) return <Name key={at} text={name} />;
              return (
                <button
                  key={at}
                  type="button"
                  class="link"
                  onClick={() => goToNode(store, node)}
                >
                  <Name text={name} />
                </button>
              );
            })}
      </p>
      <p class="muted" data-testid="timeline-counts">
        {counts.join(" · ")}
      </p>
    </div>
  );
}
