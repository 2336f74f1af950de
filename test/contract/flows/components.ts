import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { openLocalHost } from '../../../source/hosts/local-host.ts';
import { composeLabels } from '../../doubles/container-facts.ts';
import { componentOf, componentView } from '../../doubles/fleet-double.ts';
import { FlowFixture } from '../../doubles/flow-fixture.ts';
import { DoubleFixture } from './double-fixture.ts';
import type { Family, FlowRow } from './flow.contract.ts';

type State = 'running' | 'exited' | 'paused';

/** An engine in memory with one component of two services, one of which needs the other. */
class Engine extends DoubleFixture {
  static async open(): Promise<Engine> {
    const engine = new Engine(await FlowFixture.open());
    engine.fixture.host = openLocalHost();
    engine.set('running');
    return engine;
  }

  set(state: State): void {
    const { engine } = this.fixture;
    engine.containers.clear();
    const details = [
      engine.add('web', { state, labels: { ...composeLabels('web', 'web'), 'com.docker.compose.depends_on': 'db:service_started:false' } }),
      engine.add('db', { state, labels: composeLabels('web', 'db') }),
    ];
    const view = componentOf('web', details, state === 'exited' ? 'stopped' : state);
    this.fixture.fleet.current = { ...this.fixture.fleet.current, components: [view] };
  }
}

type Row = FlowRow<Engine>;
const states = async ({ fixture }: Engine) => [...fixture.engine.containers.values()].map(({ name, state }) => [name, state]);
const from = (state: State) => async (engine: Engine) => engine.set(state);
const both = (flow: string) => [`${flow} db`, `${flow} web`];
const lifecycle = (flow: string, state: State, acts: readonly string[], more: Partial<Row> = {}): Row => ({
  ...{ flow, acts, first: from(state), end: states },
  ...more,
});

export const componentFlows: Family<Engine> = {
  name: 'components',
  component: 'web',
  open: () => Engine.open(),
  rows: [
    lifecycle('start', 'exited', both('start')),
    lifecycle('stop', 'running', both('stop').reverse()),
    lifecycle('restart', 'running', both('restart')),
    lifecycle('pause', 'running', both('pause').reverse()),
    lifecycle('unpause', 'paused', both('unpause')),
    lifecycle('remove', 'exited', ['remove'], { otherwise: { 'remove/after': { says: /has no container/, end: 'same' } } }),
    {
      flow: 'exec',
      words: ['ls', '-l'],
      options: { service: 'web' },
      acts: ['exec'],
      end: async ({ fixture }) => fixture.engine.requests.at(-1),
    },
    {
      flow: 'shell',
      options: { service: 'web' },
      // What the shell ended with.
      edited: () => ({ exitCode: 0 }),
      acts: ['shell'],
      unattended: 'refused.noTerminal',
    },
    {
      flow: 'copy',
      options: { service: 'web' },
      words: (engine) => [':/etc/app', engine.file('out')],
      first: async ({ fixture }) => {
        const archive = pack();
        archive.entry({ name: 'app' }, 'hello');
        archive.finalize();
        fixture.engine.archives.set('/etc/app', await buffer(archive.pipe(new PassThrough())));
      },
      acts: ['copy'],
      otherwise: { 'copy/after': { says: /already exists/, end: 'same' } },
      end: (engine) => readFile(engine.file('out'), 'utf8').catch(() => 'missing'),
    },
    { flow: 'df', component: '', acts: [] },
    { flow: 'doctor', acts: [] },
    {
      flow: 'prune',
      component: '',
      words: ['containers'],
      first: async ({ fixture }) => {
        fixture.engine.add('gone', { state: 'exited' });
        fixture.engine.usage = {
          ...fixture.engine.usage,
          containers: [{ id: 'id-of-gone', name: 'gone', state: 'exited', sizeBytes: 20 }],
        };
      },
      acts: ['prune'],
      // The double measures what it is told, not what it has.
      otherwise: { 'prune/after': { says: /Removed 0 of 1/, end: 'same' } },
      end: states,
    },
    {
      flow: 'tasks',
      component: 'book-library',
      words: ['password'],
      first: async ({ fixture }) => {
        const task = { id: 'password', title: 'Change the password', detail: '', done: false, by: 'hand', urgent: true } as const;
        const view = componentView('book-library', { project: 'book-library', deployed: true, setupTasks: [task] });
        fixture.fleet.current = { ...fixture.fleet.current, components: [view] };
        const stack = join(fixture.folder, 'stack');
        const records = join(stack, '.quarterdeck', 'components');
        for (const folder of [join(stack, 'book-library'), records]) await mkdir(folder, { recursive: true });
        await writeFile(join(stack, 'book-library', 'compose.yaml'), 'services: {}\n');
        const record = { schema: 1, component: 'book-library', run: 'r1', files: {}, secrets: {}, images: {} };
        await writeFile(join(records, 'book-library.json'), JSON.stringify(record));
      },
      acts: ['task password'],
    },
  ],
};
