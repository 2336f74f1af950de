import { describe, expect, test } from 'vitest';
import { cleanColoured, cleanLine } from '../text/clean.ts';
import { textWidth } from '../text/width.ts';
import { createFakeDeck, type FlowBody } from './rig/fake-deck.ts';
import { asciiTheme, colourTheme, misfits, openRig, plainTheme, type Rig } from './rig/rig.tsx';
import { day, hour, sampleComponent, sampleNowMs, samplePlace, sampleSnapshot } from './rig/sample-fleet.ts';
import { blockedReview, sampleForm, sampleReview } from './rig/sample-forms.ts';
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
        label: 'Which way?',
        choices: [
          { value: 'in', label: 'Into the container' },
          { value: 'out', label: 'Out of the container', detail: 'onto this machine' },
        ],
      },
      signal,
    );
    return 'Copied';
  },
  async df(operator) {
    operator.show({
      kind: 'table',
      title: 'Room taken on nas',
      columns: ['Kind', 'Count', 'Size', 'Not used'],
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

/** Every screen there is, and the keys that lead to it. */
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

/** Lines as programs write them: plain, leveled, JSON, logfmt, coloured, long. */
function fill(rig: Rig, key = vault) {
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
  rig.log(
    key,
    Array.from({ length: 80 }, (_, index) => line(index)),
  );
  if (key !== vault) return;
  rig.log('nas/sso-portal/sso-portal', [
    { text: 'Listening for connections on 0.0.0.0:9091', service: 'server', timeMs: sampleNowMs + 16_500 },
    { text: 'checkpoint complete: wrote 12 buffers', service: 'db', stream: 'stderr', timeMs: sampleNowMs + 17_500 },
    { text: '1:M 20 Nov 2026 14:03:25.900 * Background saving started by pid 92', service: 'redis', timeMs: sampleNowMs + 18_900 },
  ]);
}

/** Everything that comes later than its key: inspect answers, statistics, log frames. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 80));
}

async function reach(rig: Rig, keys: readonly string[]) {
  await rig.press(...keys);
  await settled();
}

describe('goldens', () => {
  for (const size of sizes.slice(0, 2)) {
    for (const [name, keys] of Object.entries(screens)) {
      test(`${name} at ${size.columns}x${size.rows}`, async () => {
        const rig = await openRig({ size, deck: createFakeDeck({ flows }) });
        fill(rig);
        await reach(rig, keys);
        const text = rig.frame().replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '*');
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
    const rig = await openRig({
      size: { columns: 80, rows: 24 },
      deck: createFakeDeck({
        snapshot: {
          ...sampleSnapshot(),
          components: [],
          ports: [],
          places: [{ ...samplePlace, link, engine: { ...samplePlace.engine, reachable: false, version: '' } }],
        },
      }),
    });
    await reach(rig, []);
    await expect(`${rig.frame()}\n`).toMatchFileSnapshot('goldens/engine-away-80x24.txt');
  });

  test('too small at 40x10', async () => {
    const rig = await openRig({ size: { columns: 40, rows: 10 } });
    await expect(`${rig.frame()}\n`).toMatchFileSnapshot('goldens/too-small-40x10.txt');
  });

  test('ascii at 80x24', async () => {
    const rig = await openRig({ size: { columns: 80, rows: 24 }, theme: asciiTheme });
    await expect(`${rig.frame()}\n`).toMatchFileSnapshot('goldens/ascii-80x24.txt');
  });

  test.each(['form-choice', 'review-blocked', 'deploying'])('%s in ASCII', async (name) => {
    const rig = await openRig({ size: { columns: 80, rows: 24 }, theme: asciiTheme, deck: createFakeDeck({ flows }) });
    await reach(rig, screens[name] ?? []);
    const text = rig.frame().replace(/[|/\\-](?= running)|(?<=redis:8 )[|/\\-]/g, '*');
    await expect(`${text}\n`).toMatchFileSnapshot(`goldens/ascii-${name}-80x24.txt`);
  });

  test.each(['form-choice', 'review-blocked'])('%s at 40x12, where panes do not fit', async (name) => {
    const rig = await openRig({ size: { columns: 80, rows: 24 }, deck: createFakeDeck({ flows }) });
    await reach(rig, screens[name] ?? []);
    await rig.resize({ columns: 40, rows: 12 });
    await settled();
    expect(misfits(rig.frame(), { columns: 40, rows: 12 })).toEqual([]);
    await expect(`${rig.frame()}\n`).toMatchFileSnapshot(`goldens/${name}-40x12.txt`);
  });
});

/** Names nobody wishes for: wide, combining, right to left, very long, full of escapes, empty. */
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

/** What a program writes that means no good, or knows no better. */
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

/** As the ring keeps it. */
function logged(raw: string) {
  return {
    text: cleanLine(raw).slice(0, 16_384),
    styled: cleanColoured(raw).slice(0, 16_384),
    service: raw.slice(0, 40),
    timeMs: undefined,
  };
}

function hostileDeck() {
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
      findings: [{ check: 'x', level: 'error', message: name, remedy: name, rule: undefined }],
      probe: { word: name, tone: 'warn', detail: name, version: name, failure: name },
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
  const deck = createFakeDeck({
    snapshot: { ...sampleSnapshot(), components, ports, places: [{ ...samplePlace, name: hostileNames[0] ?? '', notes: hostileNames }] },
    flows,
  });
  deck.log('nas/p0/x', [...hostileNames, ...hostileLines].map(logged));
  deck.logs.addHistory('nas/p0/x', hostileNames.map(logged));
  return deck;
}

// Hundreds of frames each.
describe('every screen at every size', { timeout: 180_000 }, () => {
  for (const size of sizes) {
    test(`${size.columns}x${size.rows}: fits, has its footer, shows the selection`, async () => {
      const decks = size.columns > 150 || size.rows === 28 ? [createFakeDeck({ flows })] : [createFakeDeck({ flows }), hostileDeck()];
      for (const deck of decks) {
        const rig = await openRig({ size, deck });
        fill(rig);
        for (const [name, keys] of Object.entries(screens)) {
          await rig.reset();
          await rig.press(...keys);
          const rows = rig.frame().split('\n');
          expect(misfits(rig.frame(), size), name).toEqual([]);
          expect(rows, name).toHaveLength(size.rows);
          expect(rows.at(-1), `footer of ${name}`).toMatch(/q quit|Esc|Enter|n no/);
          if (name === 'components' || name === 'ports') expect(rig.frame(), `selection of ${name}`).toContain('▸');
        }
      }
    });
  }

  test('fits while growing and shrinking through every size', async () => {
    const rig = await openRig({ deck: hostileDeck() });
    fill(rig, 'nas/p0/x');
    await rig.press('x');
    for (let columns = 20; columns <= 210; columns += 38) {
      for (let rows = 5; rows <= 65; rows += 15) {
        await rig.resize({ columns, rows });
        await rig.until((frame) => misfits(frame, { columns, rows }).length === 0, `a frame that fits ${columns}x${rows}`);
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
    const rigs: Rig[] = [];
    for (const theme of themes) rigs.push(await openRig({ theme, deck: createFakeDeck({ flows }) }));
    for (const rig of rigs) fill(rig);
    for (const [name, keys] of Object.entries(screens)) {
      // A cursor is a character of its own where there is no colour, and moves what stands behind it.
      if (['filter', 'filtered-logs', 'bad-filter', 'log-time', 'palette', 'form', 'form-choice', 'form-leave'].includes(name)) continue;
      const frames: string[] = [];
      for (const rig of rigs) {
        await rig.reset();
        await rig.press(...keys);
      }
      await settled();
      for (const rig of rigs) {
        // So are the edges of what has the focus.
        const text = unstyled(rig.raw()).replace(/[┏┓┗┛━┃╭╮╰╯─│[\]⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, ' ');
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
    for (const deck of [createFakeDeck({ flows }), hostileDeck()]) {
      const rig = await openRig({ theme: asciiTheme, size: { columns: 120, rows: 36 }, deck });
      fill(rig);
      for (const [name, keys] of Object.entries(screens)) {
        await rig.reset();
        await rig.press(...keys);
        expect(rig.raw(), name).toMatch(/^[\n\x20-\x7e]*$/);
        expect(
          rig
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
      'finished',
      'paused',
      'created',
      'removing',
      'missing',
      'unknown',
    ] as const;
    const components = states.map((state) =>
      sampleComponent({ id: `is-${state}`, group: 'other', kind: '', product: '', image: 'x', state, agoMs: day }),
    );
    const rig = await openRig({ deck: createFakeDeck({ snapshot: { ...sampleSnapshot(), components } }) });
    for (const state of states) expect(rig.frame()).toMatch(new RegExp(`[●◌▲✖○?] is-${state} +${state} `));
  });
});
