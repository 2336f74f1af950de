import type { PracticeFixture } from '../practice-fixture.ts';
import type { FakeApp } from './fake-app.ts';
import { type Harness, openHarness } from './harness.tsx';

/** The console on the whole practice stack, with this component selected; without one whatever stands first. */
export function openOnPractice(
  fixture: PracticeFixture,
  { size, component, patienceMs }: { size: { columns: number; rows: number }; component?: string; patienceMs?: number },
): Promise<Harness> {
  return openHarness({
    size,
    app: fixture.app as unknown as FakeApp,
    ...(component !== undefined && { start: { selected: fixture.component(component)?.key ?? '' } }),
    now: Date.now,
    ...(patienceMs !== undefined && { patienceMs }),
  });
}

/** Finds a procedure by a few letters, as a person does. */
export async function findFlow(screen: Harness, words: string, title: string): Promise<void> {
  await screen.press(':');
  await screen.sees('Find');
  await screen.type(words);
  await screen.until((frame) => frame.includes(`▸ do    ${title}`), `${title} as the first one found`);
  await screen.press('enter');
}
