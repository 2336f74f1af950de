import { expect, test } from 'vitest';
import { engineView, FleetDouble, portView } from '../../test/doubles/fleet-double.ts';
import { inputStream, OutputStream } from '../../test/doubles/streams.ts';
import type { QuarterdeckApp } from '../app/app.ts';
import { flows } from '../app/flow-registry.ts';
import { ownPaths } from '../config/paths.ts';
import type { FlowInput } from '../flows/flow.ts';
import { runCommandLine } from './run-command-line.ts';

const away = engineView('attic', {
  hostKind: 'ssh',
  engine: { ...engineView().engine, reachable: false },
  link: { state: 'away', sinceMs: 0, message: 'attic no longer responds.', remedy: 'Check the cable.', retryAtMs: undefined },
});
const facts = {
  engines: [engineView('local'), engineView('nas', { hostKind: 'ssh' }), away],
  ports: [portView(8180, 'password-vault', { host: 'nas' })],
};

async function run(...argv: string[]) {
  const out = new OutputStream();
  const err = new OutputStream();
  const ran: string[] = [];
  const exitCode = await runCommandLine([...argv, '--host', 'all'], {
    stdin: inputStream({ terminal: false }) as never,
    stdout: out as never,
    stderr: err as never,
    env: { QUARTERDECK_KEYCHAIN: 'off', LANG: 'C.UTF-8' },
    paths: ownPaths({ QUARTERDECK_HOME: '/nonexistent' }, '/nonexistent'),
    version: '1.2.3',
    createApp: async () =>
      ({
        fleet: new FleetDouble(facts),
        flows,
        async run(_: unknown, { engineName }: FlowInput) {
          ran.push(engineName);
          return { message: 'Nothing is unused.', data: { rows: [] } };
        },
        close: async () => {},
      }) as unknown as QuarterdeckApp,
    openConsole: async () => 0,
    onSignal: () => () => {},
  });
  return { exitCode, stdout: out.text, stderr: err.text, ran };
}

test('what is read of every host says of which, and names those that were left out', async () => {
  const { exitCode, stdout, stderr, ran } = await run('df');
  expect(ran).toEqual(['local', 'nas']);
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 0,
    stdout: 'local: Nothing is unused.\nnas: Nothing is unused.\n',
    stderr: 'attic was skipped: attic no longer responds.\n',
  });
  expect(JSON.parse((await run('df', '--json')).stdout)).toMatchObject({
    message: 'local: Nothing is unused. nas: Nothing is unused.',
    data: [
      { host: 'local', rows: [] },
      { host: 'nas', rows: [] },
    ],
    skipped: [{ host: 'attic', message: 'attic no longer responds.' }],
  });
});

test('a host that is away is not said to have no open ports', async () => {
  const { stdout } = await run('ports');
  expect(stdout.slice(stdout.indexOf('attic'))).toBe('attic\nattic no longer responds.\n');
  const json = JSON.parse((await run('ports', '--json')).stdout);
  expect(json).toMatchObject({ ports: [{ host: 'nas' }], skipped: [{ host: 'attic' }] });
});

test('what changes something is for one host, and says which there are', async () => {
  const { exitCode, stderr, ran } = await run('restart', 'password-vault');
  expect({ exitCode, ran }).toEqual({ exitCode: 2, ran: [] });
  expect(stderr).toContain('--host all is valid only for read-only commands, but "restart" makes changes.');
  expect(stderr).toContain('--host nas');
});

test('the help that a wrong option points at is that of the verb, not of the host', async () => {
  const { exitCode, stderr } = await run('--host', 'nas', 'restart', 'password-vault', '--nonsense');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('quarterdeck help restart');
});
