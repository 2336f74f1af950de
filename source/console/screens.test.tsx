import { describe, expect, test } from 'vitest';
import { createFakeApp, type FlowBody } from '../../test/doubles/console/fake-app.ts';
import { asciiTheme, colourTheme, type Harness, misfits, openHarness, plainTheme } from '../../test/doubles/console/harness.tsx';
import { day, hour, sampleComponent, sampleEngine, sampleNowMs, sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import { blockedReview, sampleForm, sampleReview } from '../../test/doubles/console/sample-forms.ts';
import { cleanColoured, cleanLine } from '../text/clean.ts';
import { textWidth } from '../text/width.ts';
import { unstyled } from './styled-text.ts';
import { createTheme } from './theme.ts';

const flows: Readonly<Record<string, FlowBody>> = {
  async remove(operator, _input, signal) {
    await operator.confirm(
      {
        id: 'remove',
        title: 'Remove the containers vault-1 and vault-db-1',
        consequences: ['What they wrote outside of volumes is lost: 86 MB.', 'The anonymous volume 3f6c2a9d is lost with them.'],
      },
      signal,
    );
    return 'Removed';
  },
  async copy(operator, _input, signal) {
    await operator.ask(
      {
        kind: 'choice',
        id: 'direction',
        label: 'Direction',
        choices: [
          { value: 'in', label: 'From this machine to the container' },
          { value: 'out', label: 'From the container to this machine', detail: 'onto this machine' },
        ],
      },
      signal,
    );
    return 'Copied';
  },
  async df(operator) {
    operator.show({
      kind: 'table',
      title: 'Disk usage of nas',
      columns: ['KIND', 'COUNT', 'SIZE', 'NOT USED'],
      rows: [
        ['images', '34', '18 GB', '4.2 GB'],
        ['containers', '41', '812 MB', '0 B'],
        ['volumes', '28', '96 GB', '1.1 GB'],
        ['build cache', '112', '7.3 GB', '7.3 GB'],
      ],
    });
    return '12.6 GB could be freed';
  },
  async restart(operator, _input, signal) {
    await operator.fill(sampleForm, signal);
    return 'Deployed';
  },
  async prune(operator, _input, signal) {
    await operator.review(sampleReview, signal);
    return 'Applied';
  },
  async exec(operator, _input, signal) {
    await operator.review(blockedReview, signal);
    return 'Applied';
  },
  async pause(operator) {
    for (const [id, title, state, evidence] of [
      ['preflight', 'Look at ports, disk and memory', 'ok', 'nothing in the way'],
      ['pull', 'Pull the images', 'running', '2 of 4'],
      ['create', 'Create the containers', 'todo', undefined],
      ['start', 'Start them in order', 'todo', undefined],
      ['probe', 'Wait until it answers', 'todo', undefined],
    ] as const)
      operator.show({ kind: 'item', id, title, state, ...(evidence && { evidence }) });
    operator.progress({ id: 'a', label: 'vaultwarden/server:latest', fraction: 0.58 });
    operator.progress({ id: 'b', label: 'postgres:17-bookworm', fraction: 0.04 });
    operator.progress({ id: 'c', label: 'ghcr.io/an-organisation-with-a-long-name/and-a-long-image-name:2026.11.3', fraction: 1 });
    operator.progress({ id: 'd', label: 'redis:8' });
    operator.show({ kind: 'text', text: 'vault Pulling\ndb Pulling\nredis Pulling' });
    return new Promise(() => {});
  },
  async stop(operator) {
    operator.progress({ id: 'stop', label: 'Stopping vault-1', fraction: 0.25 });
    return new Promise(() => {});
  },
};

/** Every screen, and the keys that open it. */
const screens: Readonly<Record<string, readonly string[]>> = {
  components: ['j', 'j'],
  overview: ['j', 'j', '2'],
  logs: ['4'],
  'detail-logs': ['2', ']'],
  ports: ['3', 'j'],
  'detail-ports': ['2', ']', ']'],
  fields: ['2', ']', ']', ']'],
  inspect: ['i'],
  filter: ['/', 'm', 'e', 'd', 'i', 'a'],
  'filtered-logs': ['4', '/', 'w', 'a', 'r', 'n'],
  'zoomed-logs': ['4', 'z'],
  'paused-logs': ['4', 'k', 'm', 'k', 'm', 'k', 'k', 'k'],
  'wrapped-logs': ['4', 'w', 't'],
  'log-start': ['4', 'g'],
  'log-highlight': ['4', '*', '/', 'w', 'a', 'r', 'n', 'enter', 'N', 'N'],
  'log-context': ['4', '/', 'w', 'a', 'r', 'n', 'enter', 'k', 'enter'],
  'log-line': ['4', 'k', 'k', 'V'],
  'log-time': ['4', 'T', '1', '4', ':'],
  'log-aside': ['4', 'l', 'l', 'J'],
  'bad-filter': ['4', '/', '/', 'w', '(', '/'],
  'merged-logs': [' ', 'j', ' ', '4'],
  'host-logs': ['L'],
  hosts: ['H'],
  help: ['?'],
  palette: [':', 'r', 'e', 's'],
  confirm: ['x'],
  question: ['c'],
  table: ['D'],
  progress: ['s'],
  form: ['r'],
  'form-choice': ['r', 'up', 'up', 'up', 'up', 'right', 'tab', 'o', 'f', 'backspace'],
  'form-end': ['r', 'ctrl+s', 'x', 'tab', 'tab', 'x', 'end', 'tab', 'tab', 'tab', 'tab'],
  'form-leave': ['r', 'm', 'esc'],
  review: ['P'],
  'review-diff': ['P', 'pagedown', 'tab', 'space'],
  'review-blocked': ['E', 'enter'],
  deploying: ['p'],
};

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
  { columns: 200, rows: 60 },
  { columns: 60, rows: 15 },
  { columns: 99, rows: 28 },
  { columns: 100, rows: 28 },
];

const vault = 'nas/password-vault/password-vault';

/** Adds typical log lines of programs: plain, with levels, JSON, logfmt, coloured, long. */
function fill(harness: Harness, key = vault) {
  const line = (index: number) => {
    switch (index % 9) {
      case 1:
        return { text: `{"level":"info","msg":"request done","method":"GET","path":"/api/items/${index}","status":200,"ms":${index}}` };
      case 4:
        return { stream: 'stderr' as const, text: `[WARN] core: security barrier not initialized, attempt ${index}` };
      case 6:
        return { text: `level=error msg="cannot reach the database" host=db attempt=${index}` };
      case 7:
        return { text: `ok ${index} all is well`, styled: `\x1b[32mok ${index}\x1b[0m all is well` };
      default:
        return { text: `[INFO] http: GET /v1/sys/health 503, request ${index}, ${'a long line '.repeat(index % 5)}`.trim() };
    }
  };
  harness.log(
    key,
    Array.from({ length: 80 }, (_, index) => line(index)),
  );
  if (key !== vault) return;
  harness.log('nas/sso-portal/sso-portal', [
    { text: 'Listening for connections on 0.0.0.0:9091', service: 'server', timeMs: sampleNowMs + 16_500 },
    { text: 'checkpoint complete: wrote 12 buffers', service: 'db', stream: 'stderr', timeMs: sampleNowMs + 17_500 },
    { text: '1:M 20 Nov 2026 14:03:25.900 * Background saving started by pid 92', service: 'redis', timeMs: sampleNowMs + 18_900 },
  ]);
}

/** Waits for everything that arrives after a key: inspect results, statistics, log frames. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 80));
}

async function reach(harness: Harness, keys: readonly string[]) {
  await harness.press(...keys);
  await settled();
}

describe('goldens', () => {
  for (const size of sizes.slice(0, 2)) {
    for (const [name, keys] of Object.entries(screens)) {
      test(`${name} at ${size.columns}x${size.rows}`, async () => {
        const harness = await openHarness({ size, app: createFakeApp({ flows }) });
        fill(harness);
        await reach(harness, keys);
        const text = harness.frame().replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '*');
        await expect(`${text}\n`).toMatchFileSnapshot(`goldens/${name}-${size.columns}x${size.rows}.txt`);
      });
    }
  }

  test('engine away at 80x24', async () => {
    const link = {
      state: 'away' as const,
      sinceMs: sampleNowMs,
      message: 'The socket /var/run/docker.sock refuses this user.',
      remedy: 'Join the group docker, or set DOCKER_HOST to a rootless engine.',
      retryAtMs: sampleNowMs + 8000,
    };
    const harness = await openHarness({
      size: { columns: 80, rows: 24 },
      app: createFakeApp({
        snapshot: {
          ...sampleSnapshot(),
          components: [],
          ports: [],
          engines: [{ ...sampleEngine, link, engine: { ...sampleEngine.engine, reachable: false, version: '' } }],
        },
      }),
    });
    await reach(harness, []);
    await expect(`${harness.frame()}\n`).toMatchFileSnapshot('goldens/engine-away-80x24.txt');
  });

  test('too small at 40x10', async () => {
    const harness = await openHarness({ size: { columns: 40, rows: 10 } });
    await expect(`${harness.frame()}\n`).toMatchFileSnapshot('goldens/too-small-40x10.txt');
  });

  test('ascii at 80x24', async () => {
    const harness = await openHarness({ size: { columns: 80, rows: 24 }, theme: asciiTheme });
    await expect(`${harness.frame()}\n`).toMatchFileSnapshot('goldens/ascii-80x24.txt');
  });

  test.each(['form-choice', 'review-blocked', 'deploying'])('%s in ASCII', async (name) => {
    const harness = await openHarness({ size: { columns: 80, rows: 24 }, theme: asciiTheme, app: createFakeApp({ flows }) });
    await reach(harness, screens[name] ?? []);
    const text = harness.frame().replace(/[|/\\-](?= running)|(?<=redis:8 )[|/\\-]/g, '*');
    await expect(`${text}\n`).toMatchFileSnapshot(`goldens/ascii-${name}-80x24.txt`);
  });

  test.each(['form-choice', 'review-blocked'])('%s at 40x12, where panes do not fit', async (name) => {
    const harness = await openHarness({ size: { columns: 80, rows: 24 }, app: createFakeApp({ flows }) });
    await reach(harness, screens[name] ?? []);
    await harness.resize({ columns: 40, rows: 12 });
    await settled();
    expect(misfits(harness.frame(), { columns: 40, rows: 12 })).toEqual([]);
    await expect(`${harness.frame()}\n`).toMatchFileSnapshot(`goldens/${name}-40x12.txt`);
  });
});

/** Names with difficult characters: wide, combining, right to left, very long, with escapes, empty. */
const hostileNames = [
  '世界'.repeat(30),
  'e\u0301'.repeat(60),
  'שלום עולם',
  'x'.repeat(300),
  '\x1b[31mred\x1b[0m\x1b]0;title\x07',
  '👩‍👩‍👧‍👦'.repeat(20),
  '',
  'a\tb\nc\rd',
  '\u202eevil\u200b',
];

/** Output of malicious or faulty programs. */
const hostileLines = [
  'x'.repeat(90_000),
  '世'.repeat(20_000),
  '\x1b[2J\x1b[Hgone\x1b[?1049l\x1b]52;c;aGk=\x07\x9b2J\x90q\x9c',
  '\u202eright to left\u2066 and back',
  '\x00\x01\x02\x07\x08\x0b\x0c\x7f\x85\u2028',
  '\ufffd\ud800 broken \udfff',
  `{"level":"error","msg":"\\u001b[2J\\u202e${'y'.repeat(400)}","世":{"deep":[[[[[[1]]]]]]}}`,
  `level=warn msg="\\x1b[31m${'z'.repeat(300)}"`,
  '\x1b[31mred \x1b[48;5;1mhidden\x1b[8m secret\x1b[0m',
  'e\u0301'.repeat(5000),
  '\t\t\ttabs\t',
];

/** Returns a line as the ring stores it. */
function logged(raw: string) {
  return {
    text: cleanLine(raw).slice(0, 16_384),
    styled: cleanColoured(raw).slice(0, 16_384),
    service: raw.slice(0, 40),
    timeMs: undefined,
  };
}

function hostileApp() {
  const components = hostileNames.map((name, index) => ({
    ...sampleComponent({
      id: name,
      group: 'other',
      kind: name,
      product: name,
      image: name,
      state: 'unhealthy',
      agoMs: (index + 1) * hour,
      detail: name,
      origin: name,
      project: `p${index}${name}`,
      url: name,
      services: [{ name, image: name, state: 'failed', detail: name }],
      findings: [{ check: 'x', level: 'error', message: name, remedy: name }],
      probe: { label: name, severity: 'warning', detail: name, version: name, failure: name, status: { text: name } },
    }),
    key: `nas/p${index}/x`,
  }));
  const ports = hostileNames.map((name, index) => ({
    host: 'nas',
    address: index % 2 ? '2001:db8:1234:5678:9abc:def0:1234:5678' : '0.0.0.0',
    port: 60_000 + index,
    protocol: 'tcp' as const,
    exposure: 'public' as const,
    owner: name,
    component: `nas/p${index}/x`,
    service: name,
    containerPort: 80,
    role: name,
    open: true,
    conflictWith: [name],
    note: name,
  }));
  const app = createFakeApp({
    snapshot: { ...sampleSnapshot(), components, ports, engines: [{ ...sampleEngine, name: hostileNames[0] ?? '', notes: hostileNames }] },
    flows,
  });
  app.log('nas/p0/x', [...hostileNames, ...hostileLines].map(logged));
  app.logs.addHistory('nas/p0/x', hostileNames.map(logged));
  return app;
}

// Each test draws hundreds of frames.
describe('every screen at every size', { timeout: 180_000 }, () => {
  for (const size of sizes) {
    test(`${size.columns}x${size.rows}: fits, has its footer, shows the selection`, async () => {
      const apps = size.columns > 150 || size.rows === 28 ? [createFakeApp({ flows })] : [createFakeApp({ flows }), hostileApp()];
      for (const app of apps) {
        const harness = await openHarness({ size, app });
        fill(harness);
        for (const [name, keys] of Object.entries(screens)) {
          await harness.reset();
          await harness.press(...keys);
          const rows = harness.frame().split('\n');
          expect(misfits(harness.frame(), size), name).toEqual([]);
          expect(rows, name).toHaveLength(size.rows);
          expect(rows.at(-1), `footer of ${name}`).toMatch(/q quit|Esc|Enter|n no/);
          if (name === 'components' || name === 'ports') expect(harness.frame(), `selection of ${name}`).toContain('▸');
        }
      }
    });
  }

  test('fits while growing and shrinking through every size', async () => {
    const harness = await openHarness({ app: hostileApp() });
    fill(harness, 'nas/p0/x');
    await harness.press('x');
    for (let columns = 20; columns <= 210; columns += 38) {
      for (let rows = 5; rows <= 65; rows += 15) {
        await harness.resize({ columns, rows });
        await harness.until((frame) => misfits(frame, { columns, rows }).length === 0, `a frame that fits ${columns}x${rows}`);
      }
    }
  });

  test('colour adds nothing: the same text with and without', async () => {
    const themes = [
      plainTheme,
      colourTheme,
      createTheme({ depth: '16', background: 'light', ascii: false }),
      createTheme({ depth: '256', background: 'dark', ascii: false }),
    ];
    const rigs: Harness[] = [];
    for (const theme of themes) rigs.push(await openHarness({ theme, app: createFakeApp({ flows }) }));
    for (const harness of rigs) fill(harness);
    for (const [name, keys] of Object.entries(screens)) {
      // Without colours the cursor is an extra character, which shifts the text after it.
      if (['filter', 'filtered-logs', 'bad-filter', 'log-time', 'palette', 'form', 'form-choice', 'form-leave'].includes(name)) continue;
      const frames: string[] = [];
      for (const harness of rigs) {
        await harness.reset();
        await harness.press(...keys);
      }
      await settled();
      for (const harness of rigs) {
        // The same applies to the edges of the focused pane.
        const text = unstyled(harness.raw()).replace(/[┏┓┗┛━┃╭╮╰╯─│[\]⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, ' ');
        frames.push(
          text
            .split('\n')
            .map((line) => line.trimEnd())
            .join('\n'),
        );
      }
      expect(new Set(frames).size, name).toBe(1);
    }
  });

  test('ASCII is ASCII, whatever names there are', async () => {
    for (const app of [createFakeApp({ flows }), hostileApp()]) {
      const harness = await openHarness({ theme: asciiTheme, size: { columns: 120, rows: 36 }, app });
      fill(harness);
      for (const [name, keys] of Object.entries(screens)) {
        await harness.reset();
        await harness.press(...keys);
        expect(harness.raw(), name).toMatch(/^[\n\x20-\x7e]*$/);
        expect(
          harness
            .raw()
            .split('\n')
            .every((line) => textWidth(line) <= 120),
          name,
        ).toBe(true);
      }
    }
  });

  test('a glyph never stands alone: every state has its word', async () => {
    const states = [
      'healthy',
      'running',
      'unhealthy',
      'starting',
      'restarting',
      'stopped',
      'failed',
      'completed',
      'paused',
      'created',
      'removing',
      'missing',
      'unknown',
    ] as const;
    const components = states.map((state) =>
      sampleComponent({ id: `is-${state}`, group: 'other', kind: '', product: '', image: 'x', state, agoMs: day }),
    );
    const harness = await openHarness({ app: createFakeApp({ snapshot: { ...sampleSnapshot(), components } }) });
    for (const state of states) expect(harness.frame()).toMatch(new RegExp(`[●◌▲✖○?] is-${state} +${state} `));
  });

  describe.each([
    { columns: 60, rows: 20 },
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ])('states at $columns x $rows', (size) => {
    const of = (id: string, label: string, host: string) =>
      sampleComponent({
        id,
        group: 'media',
        kind: '',
        product: 'It',
        image: 'x',
        state: 'running',
        agoMs: day,
        host,
        probe: { label, severity: 'warning' },
      });
    const shown = async (hosts: readonly string[]) => {
      const labels = ['healthy', 'certificate expired', 'unexpected response', 'setup required'];
      const ids = ['tunnel-server-self-hosted', 'secrets-manager-path', 'secrets-manager-env', 'request-manager-second'];
      const components = ids.map((id, index) => of(id, labels[index] ?? '', hosts[index % hosts.length] ?? ''));
      const engines = hosts.map((name) => ({ ...sampleEngine, name }));
      const harness = await openHarness({ size, app: createFakeApp({ snapshot: { ...sampleSnapshot(), components, engines } }) });
      return harness.frame();
    };

    test('are whole with one host', async () => {
      const frame = await shown(['nas']);
      for (const label of ['certificate expired ', 'unexpected response ', 'setup required ']) expect(frame).toContain(label);
    });

    test('a status line replaces the product, or is beside it where there is room; a stale one has its age', async () => {
      const healthy = { label: 'healthy', severity: 'ok' as const };
      const status = { text: '3 streams', staleMs: sampleNowMs - 5 * 60_000 };
      const base = { ...{ group: 'media', kind: '', image: 'x', state: 'running' as const, agoMs: day }, product: 'Jellyfin' };
      const components = [
        sampleComponent({ ...base, id: 'media-server', probe: { ...healthy, status: { text: '2 streams' } } }),
        sampleComponent({ ...base, id: 'media-server-second', product: 'Plex', probe: { ...healthy, status } }),
        sampleComponent({ ...base, id: 'music-server', product: 'Navidrome', probe: healthy }),
      ];
      const rows = async (columns: number) => {
        const app = createFakeApp({ snapshot: { ...sampleSnapshot(), components } });
        const harness = await openHarness({ size: { columns, rows: 24 }, app });
        return harness
          .frame()
          .split('\n')
          .filter((line) => line.includes('server'));
      };
      const narrow = await rows(80);
      expect(narrow[0]).toMatch(/healthy .* 2 streams/);
      expect(narrow[1]).toMatch(/3 streams \(5 minutes/);
      expect(narrow[2]).toContain('Navidrome');
      expect(narrow.join()).not.toContain('Jellyfin');
      expect((await rows(200))[0]).toMatch(/healthy .*2 streams.* Jellyfin/);
    });

    test('leave space for names that differ at their end with several hosts', async () => {
      const frame = await shown(['nas', 'pi', 'attic']);
      for (const text of ['secrets-manager-path', 'secrets-manager-env', 'certificate e', 'unexpected re']) expect(frame).toContain(text);
    });
  });
});
