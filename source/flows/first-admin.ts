import { Fault } from '../faults/fault.ts';
import { dutiesLeft } from '../fleet/duties.ts';
import type { ComponentView } from '../fleet/model.ts';
import { confirmDuty } from '../stack/confirm-duty.ts';
import { cleanLine } from '../text/clean.ts';
import { firstAdminAbout } from './about-identity.ts';
import type { Flow } from './flow.ts';
import { unlessLeft } from './left-early.ts';
import { componentOf } from './service-targets.ts';

export const firstAdmin: Flow = {
  ...firstAdminAbout,
  async run(session, input, world) {
    const { key, id } = componentOf(input);
    const { components } = await world.fleet.settle(session.signal, { complete: true });
    const component = components.find((one) => one.key === key) ?? componentOf(input);
    const withPage = component.duties.filter(({ page }) => page !== undefined);
    const duty = dutiesLeft(component).find(({ page }) => page !== undefined);
    if (withPage.length === 0) {
      throw new Fault({
        code: 'usage.duty',
        message: `The catalog knows no page for the first account of ${id}.`,
        remedy: `What is left to do: quarterdeck status ${id}`,
      });
    }
    if (!duty) return { message: `${id}: "${withPage[0]?.title ?? ''}" is done.`, data: { done: true } };
    const address = `${component.url?.replace(/\/$/, '') ?? ''}${duty.page ?? ''}`;
    const stays = {
      message: `Left to do at ${cleanLine(address)}: ${duty.title.replace(/\.$/, '')}.`,
      remedy: `Go on any time: quarterdeck first-admin ${id}`,
    };
    const asks = duty.by === 'hand' && session.attended;
    for (const line of guideOf(component, address, { title: asks ? '' : duty.title, detail: duty.detail }))
      session.show({ kind: 'text', text: line });
    if (duty.by === 'observed')
      return { message: `${stays.message} It goes from the list by itself when it is done.`, data: { address, done: false } };
    if (!session.attended) return { message: `${stays.message} Then: quarterdeck duty ${id} ${duty.id}`, data: { address, done: false } };
    const way = await unlessLeft(
      () =>
        session.ask.choice({
          id: 'done',
          label: `${duty.title.replace(/\.$/, '')}: is it done?`,
          choices: [
            { value: 'yes', label: 'It is done' },
            { value: 'later', label: 'Later', detail: 'it stays on the list' },
          ],
        }),
      stays,
    );
    if (way === 'later') return { message: stays.message, data: { address, done: false } };
    const stackFolder = await world.stackFolderOf(input.place, session.signal);
    await session.act({
      id: `duty ${duty.id}`,
      right: 'operate',
      request: `note in ${stackFolder} that "${duty.title}" is done for ${id}`,
      target: { host: input.place, component: key },
      run: (grant) =>
        confirmDuty(grant, world.hostOf(input.place), stackFolder, { component: id, duty: duty.id, at: new Date().toISOString() }),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was written down.' };
    world.fleet.refresh(key);
    return { message: `${id}: "${duty.title}" is done.`, data: { address, done: true } };
  },
};

/** @param title empty where a question says it */
function guideOf(
  { id, url, speaks }: Pick<ComponentView, 'id' | 'url' | 'speaks'>,
  address: string,
  { title, detail }: { title: string; detail: string },
): string[] {
  const way =
    url === undefined
      ? 'Its page is published nowhere: give it a host in the reverse proxy, or a port.'
      : url.startsWith('https://')
        ? ''
        : speaks === 'vaultwarden'
          ? `Browsers refuse its encryption on plain http, unless it is localhost. From another machine: quarterdeck tunnel ${id}`
          : `From another machine: quarterdeck tunnel ${id}`;
  return [title, detail, url === undefined ? '' : `Open ${cleanLine(address)}`, way].filter((line) => line !== '');
}
