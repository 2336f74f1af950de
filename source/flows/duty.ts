import { Fault } from '../faults/fault.ts';
import { dutiesLeft } from '../fleet/duties.ts';
import type { DutyView } from '../fleet/model.ts';
import { confirmDuty, notDeployed } from '../stack/confirm-duty.ts';
import { dutyAbout } from './about-stack.ts';
import type { Flow } from './flow.ts';
import { componentOf } from './service-targets.ts';

const byHand = (duty: DutyView) => duty.by === 'hand';

export const duty: Flow = {
  ...dutyAbout,
  async run(session, input, world) {
    const { key } = componentOf(input);
    // What was written down, and what the product says, is known a moment after its containers are.
    const { components } = await world.fleet.settle(session.signal, { complete: true });
    const component = components.find((candidate) => candidate.key === key) ?? componentOf(input);
    const [wanted, more] = input.words;
    if (more !== undefined) {
      throw new Fault({
        code: 'usage.duty',
        message: 'duty confirms one duty at a time.',
        remedy: `Its ids: quarterdeck status ${component.id}`,
      });
    }
    if (!component.deployed) throw notDeployed(component.id);
    const left = dutiesLeft(component).filter(byHand);
    const id = wanted ?? (await chosen());
    const meant = component.duties.find((candidate) => candidate.id === id);
    if (!meant) throw unknownDuty(component.id, id, left);
    if (meant.by === 'observed') throw seenDuty(meant);
    if (meant.done) return { message: `${component.id}: "${meant.title}" was confirmed before.`, data: { duty: id, left: idsOf(left) } };
    const stackFolder = await world.stackFolderOf(input.place, session.signal);
    await session.act({
      id: `duty ${id}`,
      right: 'operate',
      request: `note in ${stackFolder} that "${meant.title}" is done for ${component.id}`,
      target: { host: input.place, component: component.key },
      run: (grant) =>
        confirmDuty(grant, world.hostOf(input.place), stackFolder, { component: component.id, duty: id, at: new Date().toISOString() }),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was written down.' };
    world.fleet.refresh(component.key);
    const rest = dutiesLeft(component).filter((other) => other.id !== id);
    const next =
      rest.length === 0 ? 'Nothing is left to do.' : `Left to do: ${rest.map(({ title }) => title.replace(/\.$/, '')).join('; ')}.`;
    return { message: `${component.id}: "${meant.title}" is confirmed. ${next}`, data: { duty: id, left: idsOf(rest) } };

    async function chosen(): Promise<string> {
      const [first] = left;
      if (!first) {
        const observed = dutiesLeft(component)[0];
        if (observed) throw seenDuty(observed);
        throw new Fault({
          code: 'usage.duty',
          message: `Nothing is left to do for ${component.id}.`,
          remedy: `"quarterdeck status ${component.id}" shows what was.`,
        });
      }
      if (!session.attended) {
        throw new Fault({ code: 'usage.duty', message: 'Nobody has said which duty is done.', remedy: idsText(component.id, left) });
      }
      return session.ask.choice({
        id: 'duty',
        label: `What is done for ${component.id}?`,
        choices: left.map(({ id: value, title, detail }) => ({ value, label: title, ...(detail !== '' && { detail }) })),
      });
    }
  },
};

function idsOf(duties: readonly DutyView[]): string[] {
  return duties.map(({ id }) => id);
}

function idsText(component: string, left: readonly DutyView[]): string {
  if (left.length === 0) return `Nothing of ${component} waits to be confirmed.`;
  return `Say which: quarterdeck duty ${component} ${idsOf(left).join(' | ')}`;
}

function unknownDuty(component: string, id: string, left: readonly DutyView[]): Fault {
  return new Fault({ code: 'usage.duty', message: `${component} has no duty "${id}".`, remedy: idsText(component, left) });
}

function seenDuty({ title }: DutyView): Fault {
  return new Fault({
    code: 'refused.observed',
    message: `"${title}" is asked of the product itself, and cannot be confirmed by hand.`,
    remedy: 'Do it there; it goes from the list by itself, within a minute.',
  });
}
