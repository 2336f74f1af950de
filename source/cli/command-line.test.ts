import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { componentView, engineView, FleetDouble, inState, portView, serviceView, stateOf } from '../../test/doubles/fleet-double.ts';
import { BrokenPipe, inputStream, OutputStream } from '../../test/doubles/streams.ts';
import type { AppOptions, QuarterdeckApp } from '../app/app.ts';
import { openOwnAudit } from '../app/audit-log.ts';
import { flows } from '../app/flow-registry.ts';
import type { UnfinishedChange } from '../app/unfinished-changes.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { ownPaths } from '../config/paths.ts';
import { Fault, type FaultCode } from '../faults/fault.ts';
import type { FleetSnapshot } from '../fleet/model.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import type { Operator } from '../session/session.ts';
import { runCommandLine } from './run-command-line.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-terminal-'));
});
afterEach(() => rm(folder, { recursive: true }));

const away = (message: string, code?: FaultCode): Partial<FleetSnapshot> => ({
  engines: [
    engineView('local', {
      engine: { ...engineView().engine, kind: undefined, version: '', reachable: false },
      link: {
        state: 'away',
        sinceMs: 0,
        message,
        remedy: 'Start it: systemctl start docker.',
        retryAtMs: undefined,
        ...(code && { code }),
      },
    }),
  ],
});

const sealed = componentView('secrets-manager-path', {
  state: { id: 'sealed', label: 'sealed 0/3', severity: 'warning' },
  detail: '0 of 3 key shares given',
  sinceMs: Date.UTC(2026, 10, 20, 12),
  url: 'http://127.0.0.1:8200',
  services: [
    serviceView('server', {
      main: true,
      ports: [{ address: '127.0.0.1', hostPort: 8200, containerPort: 8200, protocol: 'tcp' }],
    }),
  ],
});
const fleetFacts: Partial<FleetSnapshot> = {
  components: [sealed, componentView('password-vault', { health: 'healthy', ...inState('healthy') })],
  ports: [
    portView(8200, 'secrets-manager-path', { component: sealed.key, role: 'API and UI' }),
    portView(53, 'systemd-resolve', { address: '0.0.0.0', protocol: 'udp', exposure: 'lan', conflictWith: ['dns-filter-second'] }),
  ],
};

/** The fields of an entry that the command line reads. */
const vault = { id: 'password-vault', product: { name: 'Vaultwarden' } } as CatalogEntry;

interface Ran {
  flow: Flow;
  input: FlowInput;
  operator: Operator;
}

interface Run {
  facts?: Partial<FleetSnapshot>;
  unfinished?: readonly UnfinishedChange[];
  env?: Record<string, string>;
  stdout?: Writable;
  terminal?: boolean;
  behave?: (ran: Ran) => Promise<{ message: string; data?: unknown; exitCode?: number }>;
  createApp?: () => Promise<QuarterdeckApp>;
  interrupt?: AbortSignal;
}

async function run(
  argv: readonly string[],
  {
    facts = fleetFacts,
    unfinished = [],
    env = {},
    stdout,
    terminal = false,
    behave = async () => ({ message: 'Done.' }),
    createApp,
    interrupt,
  }: Run = {},
) {
  const out = stdout ?? new OutputStream(terminal ? { columns: 80 } : undefined);
  const err = new OutputStream(terminal ? { columns: 80 } : undefined);
  const ran: Ran[] = [];
  const apps: AppOptions[] = [];
  const closed = vi.fn(async () => {});
  const consoles = vi.fn(async () => 0);
  const exitCode = await runCommandLine(argv, {
    stdin: inputStream({ terminal }) as never,
    stdout: out as never,
    stderr: err as never,
    env: { QUARTERDECK_KEYCHAIN: 'off', LANG: 'C.UTF-8', ...env },
    paths: ownPaths({ QUARTERDECK_HOME: folder }, folder),
    version: '1.2.3',
    createApp: async (options) => {
      apps.push(options);
      if (createApp) return createApp();
      return {
        options,
        fleet: new FleetDouble(facts),
        flows,
        catalog: { entries: [vault], get: (id: string) => (id === vault.id ? vault : undefined), problems: [] },
        unfinished: async () => unfinished,
        close: closed,
        run: async (flow: Flow, input: FlowInput, operator: Operator) => {
          ran.push({ flow, input, operator });
          return behave({ flow, input, operator });
        },
      } as unknown as QuarterdeckApp;
    },
    openConsole: consoles,
    onSignal: (heard) => {
      interrupt?.addEventListener('abort', heard);
      return () => {};
    },
  });
  return { exitCode, stdout: out instanceof OutputStream ? out.text : '', stderr: err.text, ran, apps, closed, consoles };
}

describe('the registry', () => {
  test('a flow about the one component that speaks its API needs no name of it', async () => {
    const manager = { ...sealed, speaks: 'vault' };
    const facts = { ...fleetFacts, components: [manager, componentView('password-vault')] };
    const reached = async (...argv: string[]) => {
      const { ran, stderr } = await run(argv, { facts });
      const [one] = ran;
      return one ? [one.input.component?.id, ...one.input.words] : stderr;
    };
    expect(await reached('unseal')).toEqual(['secrets-manager-path']);
    expect(await reached('unseal', 'secrets-manager-path')).toEqual(['secrets-manager-path']);
    // A word that is not a name belongs to the flow: a path, not the beginning of a component's id.
    expect(await reached('vault', 'list', 'secret')).toEqual(['secrets-manager-path', 'secret']);
    expect(await reached('vault', 'list', 'secrets-manager-path', 'secret')).toEqual(['secrets-manager-path', 'secret']);
    expect(await reached('unseal', 'secret-manager')).toMatch(/No component is named "secret-manager"/);
    expect(await reached('key')).toMatch(/No component supports "key"/);
    const other = { ...manager, key: 'nas/vault/secrets-manager-path', host: 'nas' };
    const several = await run(['unseal'], { facts: { ...facts, components: [manager, other] } });
    expect(several.exitCode).toBe(2);
    expect(several.stderr).toMatch(
      /"unseal" matches several components: local\/stack\/secrets-manager-path,\s+nas\/vault\/secrets-manager-path\./,
    );
  });

  test('every flow has a verb of its own, and the help names it', async () => {
    const verbs = flows.map(({ verb }) => verb);
    expect(new Set(verbs).size).toBe(flows.length);
    expect(new Set(flows.map(({ id }) => id)).size).toBe(flows.length);
    const { stdout, exitCode } = await run(['help']);
    expect(exitCode).toBe(0);
    for (const verb of verbs) {
      const [first = '', second] = verb.split(' ');
      expect(stdout).toMatch(new RegExp(`^  ${first} `, 'm'));
      // Verbs with the same first word share one line, with a help page of their own.
      if (second !== undefined) expect((await run(['help', first])).stdout).toMatch(new RegExp(`^  ${second} `, 'm'));
      const own = (await run(['help', ...verb.split(' ')])).stdout;
      expect(own).toContain(`Usage: quarterdeck ${verb} `);
    }
    for (const taken of ['status', 'ports', 'logs', 'catalog', 'audit', 'flows', 'help']) expect(verbs).not.toContain(taken);
  });

  test.each(flows.map((flow) => [flow.verb, flow] as const))('the verb %s runs its flow, and has a help of its own', async (verb, flow) => {
    const words = flow.verb === 'cp' ? ['password-vault:/data', './here'] : flow.about === 'host' ? [] : ['password-vault'];
    const { ran, exitCode, stdout } = await run([...verb.split(' '), ...words]);
    expect(exitCode).toBe(0);
    expect(ran.map((one) => one.flow.id)).toEqual([flow.id]);
    if (verb !== 'exec') expect(stdout).toBe('Done.\n');
    if (flow.about === 'component') expect(ran[0]?.input.component?.id).toBe('password-vault');
    if (flow.about === 'catalog') expect(ran[0]?.input.entry?.id).toBe('password-vault');
    const help = await run([...verb.split(' '), '--help']);
    expect(help.stdout).toContain(flow.summary.slice(0, 20));
    for (const flag of Object.keys(flow.flags ?? {})) expect(help.stdout).toContain(`--${flag}`);
  });

  test('flows lists them all', async () => {
    const { stdout } = await run(['flows', '--json']);
    expect(JSON.parse(stdout).flows.map(({ id }: { id: string }) => id)).toEqual(flows.map(({ id }) => id));
  });
});

describe('options', () => {
  test('global ones stand before and after the verb', async () => {
    for (const argv of [
      ['--read-only', '--host', 'local', 'status', '--json'],
      ['status', '--json', '--host', 'local', '--read-only'],
    ]) {
      const { apps, stdout } = await run(argv);
      expect(apps).toMatchObject([{ readOnly: true, host: 'local', dryRun: false }]);
      expect(() => JSON.parse(stdout)).not.toThrow();
    }
  });

  test('--dry-run is a dry run', async () => {
    expect((await run(['stop', 'password-vault', '--dry-run'])).apps[0]?.dryRun).toBe(true);
  });

  test('what stands behind -- is not ours', async () => {
    const { ran, apps } = await run(['exec', 'password-vault', '--service', 'password-vault', '--', 'ls', '--json', '--read-only']);
    expect(ran[0]?.input.words).toEqual(['ls', '--json', '--read-only']);
    expect(ran[0]?.input.options).toEqual({ service: 'password-vault' });
    expect(apps[0]?.readOnly).toBe(false);
  });

  test("a flow's own flags reach it", async () => {
    const { ran } = await run(['remove', 'password-vault', '--force', '--volumes', '--yes']);
    expect(ran[0]?.input.options).toEqual({ force: true, volumes: true });
  });

  test('a flag that switches off is there only where it was said', async () => {
    expect((await run(['update', 'password-vault', '--no-backup'])).ran[0]?.input.options).toEqual({ 'no-backup': true });
    expect((await run(['update', 'password-vault'])).ran[0]?.input.options).toEqual({});
  });
});

describe('exit codes', () => {
  test.each([
    [['frobnicate'], 2, 'usage.verb'],
    [['status', '--frob'], 2, 'usage.commandLine'],
    [['help', 'frob'], 2, 'usage.verb'],
    [['--practice', 'help', 'frob'], 2, 'usage.verb'],
    [['--host', 'nas', 'help', 'secrets', 'frob'], 2, 'usage.verb'],
    [['help', 'secrets', 'frob'], 2, 'usage.verb'],
    [['stop'], 2, 'usage.component'],
    [['stop', 'nope'], 2, 'usage.component'],
    [['stop', 'password-vault', 'rss-reader'], 2, 'usage.words'],
    [['cp', 'a', 'b'], 2, 'usage.copy'],
    [['audit', 'frob'], 2, 'usage.audit'],
    [['stop', 'password-vault', '--read-only'], 4, 'refused.readOnly'],
    [['prune', '--read-only'], 4, 'refused.readOnly'],
  ])('%j ends with %i (%s)', async (argv, exitCode, code) => {
    const result = await run([...argv, '--json']);
    expect(result.exitCode).toBe(exitCode);
    const { error } = z
      .strictObject({ error: z.strictObject({ code: z.string(), message: z.string().min(1), remedy: z.string().min(1) }) })
      .parse(JSON.parse(result.stderr));
    expect(error.code).toBe(code);
    expect(result.stdout).toBe('');
    expect(result.ran).toEqual([]);
  });

  test('a fault in words: what, and under it what to do', async () => {
    const { stderr } = await run(['statsu']);
    expect(stderr).toBe('quarterdeck: Unknown command "statsu".\n             Did you mean "status"?\n');
  });

  test.each(['status', 'ports', 'stop password-vault', 'df', 'status nope'])(
    '%s without an engine ends with 3 and says where it looked',
    async (line) => {
      const { exitCode, stderr } = await run(line.split(' '), {
        facts: away('No engine is running at /var/run/docker.sock (default Docker socket): socket not found.'),
      });
      expect(exitCode).toBe(3);
      expect(stderr).toContain('/var/run/docker.sock');
      expect(stderr).toContain('systemctl start docker');
    },
  );

  test('a flow that fails ends with 1, and a program with its own code', async () => {
    const failing = await run(['start', 'password-vault'], {
      behave: () => Promise.reject(new Fault('failed.start', 'No.', 'Look.')),
    });
    expect(failing.exitCode).toBe(1);
    expect((await run(['exec', 'password-vault', '--', 'x'], { behave: async () => ({ message: '', exitCode: 42 }) })).exitCode).toBe(42);
  });

  test('an interrupt ends with 130, and the app is closed', async () => {
    const control = new AbortController();
    const result = await run(['start', 'password-vault'], {
      interrupt: control.signal,
      behave: () =>
        new Promise((_, reject) => {
          control.abort();
          reject(new DOMException('aborted', 'AbortError'));
        }),
    });
    expect(result.exitCode).toBe(130);
    expect(result.closed).toHaveBeenCalledOnce();
  });

  test.each([
    [
      { message: '/x/stack/a/compose.yaml cannot be read: indent.', where: { file: '/x/stack/a/compose.yaml', line: 2, column: 1 } },
      '/x/stack/a/compose.yaml:2:1: compose.yaml cannot be read: indent.',
    ],
    [{ message: '--set WEB_PORT: A port is a number.', where: { field: 'WEB_PORT' } }, '--set WEB_PORT: A port is a number.'],
  ])('a place is named once, whole: %j', async (reported, sentence) => {
    const fault = new Fault('config.invalid', reported.message, 'Look.', reported);
    expect((await run(['df'], { behave: () => Promise.reject(fault) })).stderr.split('\n')[0]).toBe(`quarterdeck: ${sentence}`);
  });

  test('a file that the sentence names already is not named before it again', async () => {
    const unreadable = new Fault('config.unreadable', '/x/audit.jsonl cannot be read.', 'Look.', { where: { file: '/x/audit.jsonl' } });
    expect((await run(['df'], { behave: () => Promise.reject(unreadable) })).stderr.split('\n')[0]).toBe(
      'quarterdeck: /x/audit.jsonl cannot be read.',
    );
    const wrong = new Fault('config.invalid', '"theme" cannot be "pink".', 'Look.', {
      where: { file: '/x/config.yaml', line: 2, column: 8 },
    });
    expect((await run(['df'], { behave: () => Promise.reject(wrong) })).stderr).toContain('/x/config.yaml:2:8: "theme"');
  });

  test('an interrupt ends the wait for input that never ends', async () => {
    const control = new AbortController();
    setImmediate(() => control.abort());
    const result = await run(['exec', '--stdin', 'password-vault', '--', 'cat'], { interrupt: control.signal });
    expect(result.exitCode).toBe(130);
    expect(result.ran).toEqual([]);
  }, 5_000);

  test('a mistake of ours is one sentence and a report without secrets', async () => {
    const secret = 'hvs.CAESIJ5VxkS0mP1hQ9wYt7';
    const { exitCode, stderr } = await run(['start', 'password-vault'], {
      behave: () => Promise.reject(new TypeError(`cannot read token=${secret} of "${secret}"`)),
    });
    expect(exitCode).toBe(1);
    expect(stderr).not.toContain(secret);
    expect(stderr).not.toMatch(/\n\s+at /);
    const [name = ''] = await readdir(join(folder, 'state', 'reports'));
    const report = await readFile(join(folder, 'state', 'reports', name), 'utf8');
    expect(stderr.replace(/\s+/g, '')).toContain(name);
    expect(report).toContain('TypeError');
    expect(report).toContain('command-line.test.ts');
    expect(report).toContain('Quarterdeck 1.2.3');
    expect(report).not.toContain(secret);
  });
});

const stateShape = z.object({ id: z.string(), label: z.string(), severity: z.string() });
const statusShape = z.object({
  schema: z.literal(1),
  hosts: z.array(
    z.object({
      host: z.string(),
      engine: z.object({ kind: z.enum(['docker', 'podman']).nullable(), version: z.string(), reachable: z.boolean() }),
      components: z.array(
        z.object({
          id: z.string(),
          project: z.string(),
          state: stateShape,
          serviceState: z.string(),
          detail: z.string(),
          health: z.string(),
          since: z.iso.datetime().nullable(),
          restarts: z.number(),
          services: z.array(
            z.object({ name: z.string(), image: z.string(), state: stateShape, health: z.string(), ports: z.array(z.unknown()) }),
          ),
        }),
      ),
    }),
  ),
});
const portsShape = z.object({
  schema: z.literal(1),
  ports: z.array(
    z.object({
      host: z.string(),
      address: z.string(),
      port: z.number(),
      protocol: z.enum(['tcp', 'udp', 'sctp']),
      exposure: z.enum(['loopback', 'lan', 'public', 'unknown']),
      owner: z.string(),
      component: z.string().optional(),
      conflictWith: z.array(z.string()).optional(),
    }),
  ),
});

describe('status', () => {
  test('--json has the documented shape', async () => {
    const { hosts } = statusShape.parse(JSON.parse((await run(['status', '--json'])).stdout));
    expect(hosts[0]?.components.map(({ id, state }) => [id, state.id])).toEqual([
      ['secrets-manager-path', 'sealed'],
      ['password-vault', 'healthy'],
    ]);
    expect(hosts[0]?.components[0]?.since).toBe('2026-11-20T12:00:00.000Z');
  });

  test('--json of one component holds that one', async () => {
    const { hosts } = statusShape.parse(JSON.parse((await run(['status', 'pass', '--json'])).stdout));
    expect(hosts[0]?.components.map(({ id }) => id)).toEqual(['password-vault']);
  });

  test('--json without an engine is still the whole shape, besides the fault', async () => {
    const { stdout, stderr, exitCode } = await run(['status', '--json'], { facts: away('Gone.') });
    expect(statusShape.parse(JSON.parse(stdout)).hosts[0]?.engine.reachable).toBe(false);
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'unreachable.engine', message: 'Gone.' });
    expect(exitCode).toBe(3);
  });

  test('reports the cause under one code that explain has, as JSON and as text', async () => {
    const facts = away('No engine.', 'unreachable.noEngine');
    expect(JSON.parse((await run(['status', '--json'], { facts })).stderr).error.code).toBe('unreachable.noEngine');
    expect((await run(['status', '--verbose'], { facts })).stderr).toContain('quarterdeck explain unreachable.noEngine');
    const { stdout } = await run(['explain', 'unreachable.noEngine', '--json']);
    expect(JSON.parse(stdout).faults).toMatchObject([{ code: 'unreachable.noEngine', exitCode: 3 }]);
  });

  test('says what broke off, what did not come back, and what is left to do, each with the way to go on (R20)', async () => {
    const down = serviceView('vault', { state: 'failed', kept: true, main: true });
    const task = { id: 'first-account', title: 'Create the first account', detail: '', done: false, by: 'hand' as const, urgent: true };
    const vaultView = componentView('password-vault', {
      deployed: true,
      services: [down],
      setupTasks: [task],
      backup: { atMs: undefined },
    });
    const summary = 'Stopped while writing the files of password-vault.';
    const broken = { engineName: 'local', run: 'r1', by: 'ann@nas', startedAt: '', components: ['password-vault'], summary };
    const facts = { components: [vaultView, { ...sealed, speaks: 'vault' }] };
    const { stdout } = await run(['status'], { facts, unfinished: [broken] });
    expect(stdout.replaceAll(/\n {4}/g, ' ')).toContain(`Interrupted change to password-vault. ${summary} Resume: quarterdeck recover`);
    expect(stdout).toContain('Missing: password-vault. Start: quarterdeck up');
    expect(stdout.replaceAll(/\n {4}/g, ' ')).toContain('Sealed: secrets-manager-path. Unseal: quarterdeck unseal secrets-manager-path');
    expect(stdout).toMatch(/^ {4}to do: Create the first account\n {4}no backup$/m);
    const one = (await run(['status', 'password-vault'], { facts })).stdout;
    expect(one).toMatch(/0 of 1 setup task done\n▲ Create the first account\n {2}Confirm: quarterdeck tasks password-vault first-account/);
    const json = JSON.parse((await run(['status', '--json'], { facts, unfinished: [broken] })).stdout).hosts[0];
    expect(json).toMatchObject({ unfinished: [{ run: 'r1', summary }], missing: ['password-vault'] });
  });

  test('without a backup destination in the settings, status does not claim that there is no backup', async () => {
    const facts = { components: [componentView('password-vault', { deployed: true, backup: { atMs: undefined, noDestination: true } })] };
    expect((await run(['status'], { facts })).stdout).toMatch(/^ {4}no backup destination in the settings$/m);
    expect((await run(['status', 'password-vault'], { facts })).stdout).toMatch(/^ {2}backup {4}no backup destination in the settings$/m);
    const { components } = JSON.parse((await run(['status', '--json'], { facts })).stdout).hosts[0];
    expect(components).toMatchObject([{ backup: { at: null, destination: false } }]);
  });

  test('in a pipe it is plain text: a glyph, a name, a word', async () => {
    const { stdout } = await run(['status']);
    expect(stdout).not.toContain('\x1b');
    expect(stdout).toMatch(/^local {2}Docker 28\.5\.1 {2}1 up {2}1 sealed$/m);
    expect(stdout).toMatch(/^▲ secrets-manager-path {2}sealed 0\/3 +\S+ {2}http:\/\/127\.0\.0\.1:8200$/m);
    expect(stdout).toMatch(/^ {4}0 of 3 key shares given$/m);
    expect(stdout).toMatch(/^Security & identity +1\/2$/m);
  });

  test.each([40, 60, 80, 120])('on a terminal of %i columns no line is wider', async (columns) => {
    const stdout = new OutputStream({ columns });
    await run(['status'], { stdout, env: { FORCE_COLOR: '0' } });
    expect(stdout.text).toContain('sealed');
    for (const line of stdout.text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
  });

  test('colour on a terminal, none with NO_COLOR, --no-color or TERM=dumb', async () => {
    const colours = async (argv: string[], env: Record<string, string> = {}) =>
      (await run(argv, { terminal: true, env })).stdout.includes('\x1b[');
    expect(await colours(['status'])).toBe(true);
    expect(await colours(['status'], { NO_COLOR: '1' })).toBe(false);
    expect(await colours(['status', '--no-color'])).toBe(false);
    expect(await colours(['status'], { TERM: 'dumb' })).toBe(false);
  });

  test('a terminal without Unicode gets ASCII', async () => {
    const { stdout } = await run(['status'], { env: { TERM: 'linux', NO_COLOR: '1' }, terminal: true });
    expect(stdout).toMatch(/^! secrets-manager-path/m);
    expect(stdout).not.toMatch(/[^\x00-\x7f]/);
  });

  test('one component in full', async () => {
    const facts = {
      components: [
        {
          ...sealed,
          findings: [{ check: 'x', level: 'warning' as const, message: 'Signups are open.', remedy: 'Close them.' }],
        },
      ],
    };
    const { stdout } = await run(['status', 'secrets'], { facts });
    for (const part of [
      'sealed 0/3',
      '0 of 3 key shares given',
      'http://127.0.0.1:8200',
      '127.0.0.1:8200->8200',
      '▲ Signups are open.',
      'Close them.',
    ])
      expect(stdout).toContain(part);
  });

  test('hostile names cannot reach the terminal', async () => {
    const evil = 'a\x1b]0;title\x07b\x1b[2J\u202e';
    const facts = {
      components: [
        componentView(evil, { state: stateOf(evil, 'error'), detail: evil, group: evil, services: [serviceView(evil, { image: evil })] }),
      ],
    };
    for (const argv of [['status'], ['status', evil]]) {
      const { stdout } = await run(argv, { facts, env: { NO_COLOR: '1' }, terminal: true });
      expect(stdout).toContain('ab');
      expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\u202e]/);
    }
  });
});

describe('ports', () => {
  test('--json has the documented shape, with the component by its id', async () => {
    const { ports } = portsShape.parse(JSON.parse((await run(['ports', '--json'])).stdout));
    expect(ports).toMatchObject([
      { port: 8200, component: 'secrets-manager-path', exposure: 'loopback' },
      { port: 53, owner: 'systemd-resolve', conflictWith: ['dns-filter-second'] },
    ]);
    expect(ports[1]).not.toHaveProperty('component');
  });

  test('(R88) in words: who listens, who reaches it, who else wants it', async () => {
    const { stdout } = await run(['ports']);
    expect(stdout).toMatch(/● 127\.0\.0\.1:8200\/tcp +loopback +secrets-manager-path +API and UI/);
    expect(stdout).toMatch(/✖ 0\.0\.0\.0:53\/udp +lan +systemd-resolve +conflict with dns-filter-second/);
  });
});

describe('the bare command', () => {
  test('on a terminal is the console', async () => {
    const { consoles, exitCode, stdout } = await run([], { terminal: true });
    expect(consoles).toHaveBeenCalledOnce();
    expect([exitCode, stdout]).toEqual([0, '']);
  });

  test('with options too', async () => {
    expect((await run(['--read-only'], { terminal: true })).consoles).toHaveBeenCalledOnce();
  });

  test('without a terminal prints the status once and ends with 0', async () => {
    const { consoles, exitCode, stdout } = await run([]);
    expect(consoles).not.toHaveBeenCalled();
    expect(exitCode).toBe(0);
    expect(stdout).toContain('sealed 0/3');
  });

  test('without a terminal and without an engine says so and ends with 3', async () => {
    const { exitCode, stderr } = await run([], { facts: away('No engine is running at /x.') });
    expect(exitCode).toBe(3);
    expect(stderr).toContain('No engine is running at /x.');
  });

  test('on a terminal that cannot draw prints the status and why', async () => {
    const { consoles, stdout, stderr } = await run([], { terminal: true, env: { TERM: 'dumb' } });
    expect(consoles).not.toHaveBeenCalled();
    expect(stdout).toContain('sealed 0/3');
    expect(stderr).toContain('TERM=dumb');
  });
});

describe('a reader that goes away', () => {
  test('is no error, and what was begun is finished', async () => {
    const stdout = new BrokenPipe();
    let finished = false;
    const result = await run(['df'], {
      stdout,
      behave: async ({ operator }) => {
        operator.show({ kind: 'text', text: 'one' });
        await new Promise((resolve) => setImmediate(resolve));
        operator.show({ kind: 'text', text: 'two' });
        finished = true;
        return { message: 'Done.' };
      },
    });
    expect(result.exitCode).toBe(0);
    expect(result.stderr).toBe('');
    expect(finished).toBe(true);
    expect(stdout.writes).toBe(1);
  });
});

describe('an output that cannot be written', () => {
  test('is told, and is a failure', async () => {
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })),
    });
    const { exitCode, stderr } = await run(['flows'], { stdout });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('no space left');
    expect(stderr).not.toContain('Internal error');
  });
});

describe('--json', () => {
  test('holds nothing that a terminal would obey, and is the same JSON (C1 controls and reordering are legal in it)', async () => {
    const hostile = '\u009b2J\u009d0;owned\u009c \u202etxt.exe';
    const result = await run(['--json', 'df'], { terminal: true, behave: async () => ({ message: 'Done.', data: { name: hostile } }) });
    expect(result.stdout).not.toMatch(/[\u007f-\u009f\u202a-\u202e]/);
    expect(JSON.parse(result.stdout)).toMatchObject({ data: { name: hostile } });
    const failed = await run(['--json', 'df'], {
      behave: () => Promise.reject(new Fault('failed.x', hostile, 'Look.')),
    });
    expect(failed.stderr).not.toMatch(/[\u007f-\u009f\u202a-\u202e]/);
    expect(JSON.parse(failed.stderr)).toMatchObject({ error: { message: hostile } });
  });
});

describe('unattended', () => {
  const confirmation = { id: 'x', title: 'Remove db', consequences: ['its data'] };

  test('nothing is confirmed without --yes', async () => {
    const behave: Run['behave'] = async ({ operator }) => ({
      message: String(await operator.confirm(confirmation, new AbortController().signal)),
    });
    const refused = await run(['remove', 'password-vault'], { behave });
    expect([refused.exitCode, refused.stderr.includes('--yes')]).toEqual([4, true]);
    expect((await run(['remove', 'password-vault', '--yes'], { behave })).stdout).toBe('true\n');
  });

  test('--yes is not enough for a production host: its name is needed', async () => {
    const behave: Run['behave'] = async ({ operator }) => ({
      message: String(await operator.confirm({ ...confirmation, typed: 'nas' }, new AbortController().signal)),
    });
    for (const argv of [['--yes'], ['--confirm', 'nsa']])
      expect((await run(['remove', 'password-vault', ...argv], { behave })).exitCode).toBe(4);
    expect((await run(['remove', 'password-vault', '--confirm', 'nas'], { behave })).exitCode).toBe(0);
  });

  test('a question is a usage error, and a terminal is refused', async () => {
    const asking = await run(['prune'], {
      behave: async ({ operator }) => ({
        message: String(await operator.ask({ id: 'q', kind: 'text', label: 'Name?' }, new AbortController().signal)),
      }),
    });
    expect([asking.exitCode, asking.stderr.includes('Name?')]).toEqual([2, true]);
    const lending = await run(['shell', 'password-vault'], {
      behave: async ({ operator }) => ({ message: await operator.lend(async () => 'x') }),
    });
    expect(lending.exitCode).toBe(4);
  });

  test("a program's output reaches a pipe byte for byte and alone", async () => {
    const { stdout, stderr } = await run(['exec', 'password-vault', '--', 'x'], {
      behave: async ({ operator }) => {
        operator.show({ kind: 'output', stream: 'stdout', bytes: Buffer.from('a\x1b[31mb') });
        operator.show({ kind: 'output', stream: 'stderr', bytes: Buffer.from('warn\x1b[2J\n') });
        return { message: 'The program ended with exit code 0.', exitCode: 0 };
      },
    });
    expect(stdout).toBe('a\x1b[31mb');
    expect(stderr).toBe('warn\n');
  });

  test('on a screen it is cleaned', async () => {
    const { stdout } = await run(['exec', 'password-vault', '--', 'x'], {
      terminal: true,
      behave: async ({ operator }) => {
        operator.show({ kind: 'output', stream: 'stdout', bytes: Buffer.from('a\x1b]0;t\x07b\n') });
        return { message: '', exitCode: 0 };
      },
    });
    expect(stdout).toBe('ab\n');
  });

  test('--json prints one object with what the flow tells', async () => {
    const { stdout } = await run(['df', '--json'], {
      behave: async ({ operator }) => {
        operator.show({ kind: 'text', text: 'for people' });
        return { message: 'Done.', data: { rows: [1] } };
      },
    });
    expect(JSON.parse(stdout)).toEqual({ schema: 1, flow: 'df', message: 'Done.', data: { rows: [1] } });
  });
});

describe('several engines', () => {
  const facts = { ...fleetFacts, engines: [engineView('local'), engineView('local/podman')] };
  test('looking is done at all of them, changing at one that is named', async () => {
    expect((await run(['df'], { facts })).ran.map(({ input }) => input.engineName)).toEqual(['local', 'local/podman']);
    const { exitCode, stderr, ran } = await run(['prune'], { facts });
    expect([exitCode, ran.length]).toEqual([2, 0]);
    expect(stderr).toContain('--host');
  });
});

describe('run', () => {
  test('a flow by its name or its verb, with its own arguments and options', async () => {
    const facts = { ...fleetFacts };
    for (const argv of [
      ['run', 'stop', 'password-vault'],
      ['run', 'backup', 'list', 'password-vault', '--json'],
      ['--dry-run', 'run', 'deploy', 'password-vault', '--set', 'DOMAIN=vault.lan'],
    ]) {
      const { ran, exitCode, stderr } = await run(argv, { facts });
      expect(stderr).toBe('');
      expect(exitCode).toBe(0);
      expect(ran).toHaveLength(1);
    }
    const { ran } = await run(['run', 'deploy', 'password-vault', '--set', 'DOMAIN=vault.lan']);
    expect(ran[0]?.input.options).toMatchObject({ set: ['DOMAIN=vault.lan'] });
  });

  test('what is no flow, and an option that it does not have, are refused with a remedy', async () => {
    const unknown = await run(['run', 'stopp', 'password-vault']);
    expect([unknown.exitCode, unknown.ran.length]).toEqual([2, 0]);
    expect(unknown.stderr).toMatch(/Unknown flow "stopp"[\s\S]*stop/);
    const option = await run(['run', 'stop', 'password-vault', '--sudden']);
    expect([option.exitCode, option.ran.length]).toEqual([2, 0]);
    expect(option.stderr).toContain('--sudden');
  });

  test('a read-only command reads no file of answers, so that nobody learns whether it exists', async () => {
    const path = join(folder, 'kept.json');
    await writeFile(path, '{}');
    for (const typed of [path, join(folder, 'missing.json')])
      expect(await run(['df', '--read-only', '--answers', typed])).toMatchObject({
        exitCode: 4,
        stderr: expect.stringMatching(/^quarterdeck: Read-only: \S+ was\s+not\s+read\./),
      });
  });

  test('answers from a file are given, and those of no use are told', async () => {
    const path = join(folder, 'answers.json');
    await writeFile(path, '{"reason": "too loud", "colour": "red"}');
    const asked: unknown[] = [];
    const { stderr, exitCode } = await run(['stop', 'password-vault', '--answers', path], {
      behave: async ({ operator }) => {
        asked.push(await operator.ask({ id: 'reason', label: 'Why', kind: 'text' }, new AbortController().signal));
        return { message: 'Done.' };
      },
    });
    expect(asked).toEqual(['too loud']);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/Unused answers: colour/);
  });
});

describe('audit', () => {
  const audit = () => openOwnAudit(ownPaths({ QUARTERDECK_HOME: folder }, folder), { QUARTERDECK_KEYCHAIN: 'off' });
  const event = {
    run: 'r',
    flow: 'stop',
    act: 'stop db',
    right: 'operate' as const,
    request: 'POST /containers/db/stop',
    host: 'local',
    component: 'local/stack/db',
  };

  test('lists what was done, and what was started and never ended', async () => {
    await audit().record({ ...event, phase: 'before' });
    await audit().record({ ...event, phase: 'after', outcome: 'done' });
    await audit().record({ ...event, run: 'r2', phase: 'before' });
    const lines = (await run(['audit'])).stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/done +stop +local stack\/db .* POST \/containers\/db\/stop$/);
    expect(lines[2]).toMatch(/started +stop/);
    expect(JSON.parse((await run(['audit', '--json'])).stdout).entries).toHaveLength(3);
  });

  test('counts what was started and never ended among the entries', async () => {
    for (let at = 0; at < 52; at++) await audit().record({ ...event, act: `a${at}`, phase: 'after', outcome: 'done' });
    await audit().record({ ...event, act: 'open', phase: 'before' });
    expect((await run(['audit'])).stdout).toContain('The last 51 of 53 entries.');
    expect((await run(['audit', '--all'])).stdout).not.toContain('entries.');
  });

  test('verify ends with 0 on a whole log and names the line of a break', async () => {
    for (const act of ['a', 'b', 'c']) await audit().record({ ...event, act, phase: 'after', outcome: 'done' });
    expect((await run(['audit', 'verify'])).exitCode).toBe(0);
    const path = join(folder, 'state', 'audit.jsonl');
    const { writeFile } = await import('node:fs/promises');
    await writeFile(path, (await readFile(path, 'utf8')).replace('"act":"b"', '"act":"B"'));
    const { exitCode, stdout } = await run(['audit', 'verify']);
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`changed  ${path}:2`);
    expect(JSON.parse((await run(['audit', 'verify', '--json'])).stdout)).toMatchObject({
      schema: 1,
      whole: false,
      problems: [{ line: 2, kind: 'changed' }],
    });
  });

  test('calls no log whole whose key is gone', async () => {
    for (const act of ['a', 'b']) await audit().record({ ...event, act, phase: 'after', outcome: 'done' });
    await rm(join(folder, 'state', 'audit-key.json'));
    const { exitCode, stdout, stderr } = await run(['audit', 'verify']);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('changes cannot be ruled out');
    expect(stdout).not.toContain('none changed');
    expect(stderr).toContain('2 entries of 2 could not be checked');
    expect(JSON.parse((await run(['audit', 'verify', '--json'])).stdout)).toMatchObject({ whole: false, unchecked: 2, problems: [] });
  });

  test('a refusal in read-only mode is in it, with what it was about', async () => {
    await run(['stop', 'password-vault', '--read-only']);
    expect((await run(['audit'])).stdout).toMatch(/refused +stop +local password-vault/);
  });

  test('two instances of one product are told apart', async () => {
    const sealed = { ...event, component: 'secrets-manager-path', phase: 'after' as const, outcome: 'done' as const };
    await audit().record({ ...sealed, project: 'bao-a', containers: ['bao-a-openbao-1'] });
    await audit().record({ ...sealed, component: 'local//secrets-manager-path', containers: ['bao-b'] });
    const { stdout } = await run(['audit']);
    expect(stdout).toContain('local bao-a/secrets-manager-path ');
    expect(stdout).toContain('local secrets-manager-path (bao-b)');
  });

  test('a damaged end is kept beside it, and reported by the list, by verify and in JSON', async () => {
    await audit().record({ ...event, phase: 'after', outcome: 'done' });
    const path = join(folder, 'state', 'audit.jsonl');
    const { appendFile } = await import('node:fs/promises');
    await appendFile(path, '{"n":2,"at"');
    await audit().record({ ...event, act: 'b', phase: 'after', outcome: 'done' });
    expect((await run(['audit'])).stderr).toContain(`kept in ${path}.damaged`);
    const verified = await run(['audit', 'verify']);
    expect([verified.exitCode, verified.stdout.replace(/\s+/g, ' ')]).toEqual([0, expect.stringContaining(`kept in ${path}.damaged`)]);
    expect(JSON.parse((await run(['audit', '--json'])).stdout)).toMatchObject({ damaged: `${path}.damaged` });
  });
});
