import { afterEach, beforeEach, expect, test } from 'vitest';
import { componentView, portView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import type { ComponentView } from '../../fleet/model.ts';

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

const show = (...components: ComponentView[]) => {
  fixture.fleet.current = { ...fixture.fleet.current, components };
};
const titles = () => fixture.operator.texts();

test('what is wrong, worst first, with remedies, and 1 as exit code', async () => {
  const finding = (level: 'error' | 'notice', check: string) => ({ level, check, message: `${check}.`, remedy: 'Change it.' });
  show(
    componentView('mail', { findings: [finding('notice', 'slow'), finding('error', 'open-relay')] }),
    componentView('photos', {
      state: { id: 'unhealthy', label: 'unhealthy', severity: 'error' },
      detail: 'It responds with status 500.',
      backup: { atMs: undefined },
    }),
    componentView('wiki', {
      setupTasks: [{ id: 'admin', title: 'Change the default password', detail: '', done: false, by: 'hand', urgent: true }],
    }),
  );
  const outcome = await fixture.run('doctor', undefined);
  expect(titles()).toEqual([
    'error: mail: open-relay. Change it.',
    'error: photos: unhealthy. It responds with status 500. Show its log: quarterdeck logs photos',
    'error: wiki: To do: Change the default password. Until this is done, anyone who can reach the component may be able to take control of it.',
    'warning: photos: Backup: no backup. Back up: quarterdeck backup photos',
    'notice: mail: slow. Change it.',
  ]);
  expect(outcome).toMatchObject({ message: 'Checked 3 components: 3 errors, 1 warning, 1 notice.', exitCode: 1 });
});

test('without a backup destination in the settings, backups are unknown, and that is a warning', async () => {
  show(componentView('photos', { backup: { atMs: undefined, noDestination: true } }));
  expect(await fixture.run('doctor', undefined)).toMatchObject({ message: 'Checked 1 component: 1 warning.', exitCode: 1 });
  expect(titles()).toEqual([
    'warning: photos: Backup: no backup destination in the settings. Add "backups: {local: /srv/backups}" to config.yaml, or back up: quarterdeck backup photos --to /srv/backups',
  ]);
});

test('one component alone', async () => {
  const bad = componentView('mail', { state: { id: 'failed', label: 'failed', severity: 'error' }, detail: '' });
  const good = componentView('wiki');
  show(bad, good);
  expect(await fixture.run('doctor', good)).toMatchObject({ message: 'Checked 1 component: no problems found.', exitCode: 0 });
  expect(titles()).toEqual([]);
});

test('text of others is cleaned', async () => {
  show(componentView('mail', { findings: [{ level: 'error', check: 'x', message: 'red\u001b[31m\nline', remedy: '' }] }));
  await fixture.run('doctor', undefined);
  expect(titles()).toEqual(['error: mail: red line']);
});

test('a port that two components publish', async () => {
  const mail = componentView('mail');
  fixture.fleet.current = {
    ...fixture.fleet.current,
    components: [mail],
    ports: [portView(25, 'mail', { component: mail.key, conflictWith: ['postfix'] })],
  };
  await fixture.run('doctor', undefined);
  expect(titles()).toEqual(['error: mail: 127.0.0.1:25/tcp is also used by postfix. Show all ports: quarterdeck ports']);
});
