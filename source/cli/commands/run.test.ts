import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { componentView, FleetDouble } from '../../../test/doubles/fleet-double.ts';
import { inputStream, OutputStream } from '../../../test/doubles/streams.ts';
import { ownPaths } from '../../config/paths.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Flow, FlowInput } from '../../flows/flow.ts';
import { type JournalOptions, openJournal, type RunEnd } from '../../session/journal.ts';
import type { VerbContext } from '../command.ts';
import { Output } from '../output.ts';
import { runCommandLine } from '../run-command-line.ts';
import { runRunVerb } from './run.ts';

const flow = (id: string, more: Partial<Flow> = {}): Flow => ({
  id,
  verb: id,
  title: `Do ${id}`,
  summary: `Does ${id}.`,
  right: 'operate',
  about: 'host',
  run: async () => ({ message: `${id} is done.` }),
  ...more,
});
const flows = [flow('walk', { resumes: true }), flow('unseal', { resumes: true, about: 'component' }), flow('deploy')];

async function fixture(components: readonly ComponentView[] = []) {
  const home = await mkdtemp(join(tmpdir(), 'quarterdeck-run-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const paths = ownPaths({ QUARTERDECK_HOME: home }, home);
  const begin = async (id: string, end?: RunEnd, about: Partial<JournalOptions> = {}) => {
    const journal = await openJournal({ folder: join(paths.state, 'journal'), flow: id, engineName: 'local', ...about });
    await journal.answered('target', '1.34');
    await journal.acted('cordon', 'done');
    if (end) await journal.end(end);
    return journal.run;
  };
  const resumed: (string | undefined)[] = [];
  const inputs: FlowInput[] = [];
  const stdout = new OutputStream();
  const stderr = new OutputStream();
  const surroundings = { stdin: inputStream({ terminal: false }), stdout, stderr, env: {}, paths };
  const context = (json = false) =>
    ({
      ...surroundings,
      output: new Output(surroundings as never),
      options: { json, practice: false, readOnly: false, colour: false, verbose: false, dryRun: false, yes: false },
      signal: new AbortController().signal,
      app: async () => ({
        fleet: new FleetDouble({ components }),
        catalog: { entries: [], get: () => undefined, problems: [] },
        run: async (one: Flow, ...more: unknown[]) => {
          resumed.push(more[3] as string | undefined);
          inputs.push(more[0] as FlowInput);
          return one.run({} as never, {} as never, {} as never);
        },
      }),
    }) as unknown as VerbContext;
  return { begin, context, paths, resumed, inputs, stdout, stderr, journal: join(paths.state, 'journal') };
}

test('what was left in the middle is listed; what ended, and what nobody can go on with, is not', async () => {
  const { begin, context, stdout } = await fixture();
  const left = await begin('walk');
  const cancelled = await begin('walk', 'cancelled');
  await begin('walk', 'done', { words: ['another'] });
  await begin('deploy');
  expect(await runRunVerb(context(true), flows, undefined)).toBe(0);
  const { runs } = JSON.parse(stdout.text) as { runs: { run: string; flow: string; acts: number }[] };
  expect(runs.map(({ run }) => run).sort()).toEqual([left, cancelled].sort());
  expect(runs[0]).toMatchObject({ flow: 'walk', host: 'local', acts: 1 });
});

test('nothing left: a sentence; and an unknown run is refused', async () => {
  const { context, stdout } = await fixture();
  expect(await runRunVerb(context(), flows, undefined)).toBe(0);
  expect(stdout.text).toBe('No interrupted runs.\n');
  await expect(runRunVerb(context(), flows, '20260101T000000000-abcdef')).rejects.toMatchObject({ code: 'usage.run' });
});

test('a journal that cannot be read is named, and not called "nothing"', async () => {
  const { context, stdout, stderr, journal } = await fixture();
  const run = '20260101T000000000-abcdef';
  const file = join(journal, `${run}.jsonl`);
  await mkdir(journal, { recursive: true });
  await writeFile(file, 'null\n');
  expect(await runRunVerb(context(), flows, undefined)).toBe(0);
  expect(stdout.text).toBe('No run can be resumed.\n');
  expect(stderr.text.replaceAll(/\s+/g, ' ')).toContain(`Line 1 of the journal ${file} is damaged. The run may have been interrupted.`);
  expect(await runRunVerb(context(true), flows, undefined)).toBe(0);
  expect(JSON.parse(stdout.text.slice(stdout.text.indexOf('{')))).toMatchObject({ runs: [], damaged: [{ run, file }] });
  await expect(runRunVerb(context(), flows, run)).rejects.toMatchObject({ code: 'failed.journal', where: { file } });
});

test('a run that was left is gone on with, under its own name', async () => {
  const { begin, context, resumed, stdout } = await fixture();
  const left = await begin('walk');
  expect(await runRunVerb(context(), flows, left)).toBe(0);
  expect(resumed).toEqual([left]);
  expect(stdout.text).toContain('walk is done.');
});

test('with two instances of one product it goes on with the one that it was about', async () => {
  const components = ['bao-a', 'bao-b'].map((project) => componentView('vault', { project, key: `local/${project}/vault` }));
  const { begin, context, inputs, stdout } = await fixture(components);
  const left = await begin('unseal', undefined, { component: 'vault', key: 'local/bao-b/vault' });
  await runRunVerb(context(), flows, undefined);
  expect(stdout.text).toContain('unseal bao-b/vault');
  expect(await runRunVerb(context(), flows, left)).toBe(0);
  expect(inputs.map(({ component }) => component?.key)).toEqual(['local/bao-b/vault']);
});

test('it is about what it was about before: words and flags of the command line', async () => {
  const { begin, context, inputs } = await fixture();
  const left = await begin('walk', undefined, { words: ['203.0.113.7'], options: { for: '24h' } });
  await runRunVerb(context(), flows, left);
  expect(inputs).toMatchObject([{ words: ['203.0.113.7'], options: { for: '24h' } }]);
});

test('it goes on with the host that it was about, and not with this machine', async () => {
  const { stderr, stdout, paths } = await fixture();
  const journal = await openJournal({ folder: join(paths.state, 'journal'), flow: 'upgrade', engineName: 'nas' });
  await journal.answered('target', '1.34');
  const opened: (string | undefined)[] = [];
  await runCommandLine(['run', '--resume', journal.run], {
    ...{ stdin: inputStream({ terminal: false }), stdout, stderr, env: {}, paths, version: '0' },
    createApp: async ({ host }: { host?: string }) => {
      opened.push(host);
      throw new Fault('usage.host', 'Far enough.', 'None.');
    },
    openConsole: async () => 0,
    onSignal: () => () => {},
  } as never);
  expect(stderr.text).toContain('Far enough.');
  expect(opened).toEqual(['nas']);
});

test('it is not gone on with on a host that it was not about', async () => {
  const { begin, context, resumed } = await fixture();
  const left = await begin('walk', undefined, { engineName: 'nas/podman' });
  const on = (host: string) => runRunVerb({ ...context(), options: { ...context().options, host } }, flows, left);
  await expect(on('attic')).rejects.toMatchObject({ code: 'usage.host', message: `Run ${left} belongs to nas/podman, not attic.` });
  expect(resumed).toEqual([]);
});
