import type { PracticeStage } from '../../../test/doubles/practice-stage.ts';
import type { FakeDeck } from './fake-deck.ts';
import { openRig, type Rig } from './rig.tsx';

/** The console on the whole practice stack, with this component selected; without one whatever stands first. */
export function openOnPractice(
  stage: PracticeStage,
  { size, component, patienceMs }: { size: { columns: number; rows: number }; component?: string; patienceMs?: number },
): Promise<Rig> {
  return openRig({
    size,
    deck: stage.deck as unknown as FakeDeck,
    practice: true,
    ...(component !== undefined && { start: { selected: stage.component(component)?.key ?? '' } }),
    now: Date.now,
    ...(patienceMs !== undefined && { patienceMs }),
  });
}

/** Finds a procedure by a few letters, as a person does. */
export async function findFlow(screen: Rig, words: string, title: string): Promise<void> {
  await screen.press(':');
  await screen.sees('Find');
  await screen.type(words);
  await screen.until((frame) => frame.includes(`▸ do    ${title}`), `${title} as the first one found`);
  await screen.press('enter');
}
