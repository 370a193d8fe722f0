// What is worked out of a scene when it is painted, and kept until the scene changes.
import { layersOf } from "../graph/calls.js";
import type { ColorBy } from "../graph/color-by.js";
import { type StorageLink, storageLinks } from "../scene/links.js";
import { type ItemPlayback, type Playback, playItems } from "../scene/playback.js";
import type { Scene } from "../scene/scene.js";
import { type Tone, toneItems } from "../scene/tones.js";
import { toneNodes } from "../scene/toning.js";

/** Keep the answer to the last question, as long as it is asked of the same objects. */
function kept<Other, Answer>(work: (scene: Scene, other: Other) => Answer) {
  let last: { scene: Scene; other: Other; answer: Answer } | null = null;
  return (scene: Scene, other: Other): Answer => {
    if (last?.scene !== scene || last.other !== other) {
      last = { scene, other, answer: work(scene, other) };
    }
    return last.answer;
  };
}

export interface Memos {
  tones(scene: Scene, colorBy: ColorBy): readonly Tone[];
  playback(scene: Scene, playback: Playback | null): ItemPlayback | null;
  links(scene: Scene, shown: boolean): readonly StorageLink[] | null;
}

export function createMemos(): Memos {
  return {
    tones: kept((scene, colorBy: ColorBy) =>
      toneItems(
        scene.visible,
        toneNodes(scene.graph, colorBy),
        scene.half,
        layersOf(scene.graph.snapshot),
      ),
    ),
    playback: kept((scene, playback: Playback | null) => {
      if (playback === null) return null;
      const items = playItems(scene.visible, playback);
      items.stage.copyWithin(scene.half, 0, scene.half);
      return items;
    }),
    links: kept((scene, shown: boolean) =>
      shown ? storageLinks(scene.graph, scene.visible) : null,
    ),
  };
}
