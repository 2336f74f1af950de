import { describe, expect, test } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import { colourTheme, openHarness } from '../../test/doubles/console/harness.tsx';
import { hour, minute, sampleComponent, sampleEngine, sampleNowMs, sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import type { PracticeAccess } from '../app/practice-access.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';

const sealed = 'nas/secrets-manager-path/secrets-manager-path';
const vault = 'nas/password-vault/password-vault';

describe('components', () => {
  test('says more than the container state: the probe’s word stands in the row and in the header (R5)', async () => {
    const screen = await openHarness();
    await screen.sees(
      /secrets-manager-path\s+sealed 0\/3\s+2m/,
      /vulnerability-scanner\s+loading feeds\s+12m/,
      /ldap-directory\s+stopped/,
      /rss-reader\s+failed/,
    );
    const wide = await openHarness({ size: { columns: 240, rows: 24 } });
    await wide.sees(/secrets-manager-path\s+sealed 0\/3\s+2m/);
    expect(wide.row('quarterdeck')).toMatch(/ 1 restarting {2}1 failed {2}.*1 sealed .* 8 up /);
  });

  test('are shown in the groups of the catalog, each with how many are well (R1)', async () => {
    const screen = await openHarness({ size: { columns: 120, rows: 60 } });
    const frame = screen.frame();
    const headings = [
      'Security & identity',
      'AI & language models',
      'Media',
      'VPN & tunnels',
      'Productivity & files',
      'Networking',
      'Not in the catalog',
    ];
    const engines = headings.map((heading) => frame.indexOf(heading));
    expect(engines).toEqual(engines.toSorted((one, other) => one - other));
    expect(engines.every((engineName) => engineName > 0)).toBe(true);
    // The completed job counts as well; the unknown component does not.
    expect(screen.row('Not in the catalog')).toMatch(/1\/2/);
  });

  test('stay selected by what they are when an update moves them', async () => {
    const screen = await openHarness();
    await screen.press('j', 'j');
    await screen.sees(/▸▲ secrets-manager-path/);
    screen.app.show(({ components }) => ({ components: components.toReversed() }));
    await screen.sees(/▸▲ secrets-manager-path/);
  });

  test('hand the selection to the neighbour when they go away', async () => {
    const screen = await openHarness();
    await screen.press('j', 'j');
    await screen.sees(/▸▲ secrets-manager-path/);
    screen.app.show(({ components }) => ({ components: components.filter((component) => component.key !== sealed) }));
    await screen.sees(/▸◌ vulnerability-scanner/);
  });

  test('are found by name, product, kind or state, and Esc shows all again', async () => {
    const screen = await openHarness();
    await screen.press('/');
    await screen.type('jellyfin');
    await screen.sees(/▸● media-server/, '1 of 20 match');
    await screen.misses('sso-portal');
    await screen.press('enter', 'esc');
    await screen.sees('sso-portal');
    await screen.press('/');
    await screen.type('sealed');
    await screen.sees(/▸▲ secrets-manager-path/);
    await screen.press('esc');
    await screen.sees('sso-portal');
    await screen.press('/');
    await screen.type('qqqq');
    await screen.sees('No matches for "qqqq". Esc clears the filter.');
  });

  test('scroll so that the selected one is always on the screen', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 18 } });
    await screen.press('G');
    await screen.sees(/▸\? old-blog/);
    await screen.misses('password-vault');
    await screen.press('g');
    await screen.sees(/▸▲ password-vault/);
    await screen.press('pagedown');
    await screen.until((frame) => /▸/.test(frame) && !/▸▲ password-vault/.test(frame), 'the selection a page further down');
  });

  test('tell an engine that is away, why, what to do, and when the next try is', async () => {
    let now = sampleNowMs;
    const app = createFakeApp({
      snapshot: {
        ...sampleSnapshot(),
        engines: [
          {
            ...sampleEngine,
            link: {
              state: 'away',
              sinceMs: sampleNowMs,
              message: 'The socket is there, but nobody answers.',
              remedy: 'Start the engine: systemctl start docker',
              retryAtMs: sampleNowMs + 4000,
            },
          },
        ],
      },
    });
    const screen = await openHarness({ app, now: () => now });
    await screen.sees('nas: The socket is there, but nobody answers.', 'Next try in 4 s.');
    now += 3000;
    await screen.sees('Next try in 1 s.');
    app.show(() => ({ components: [] }));
    await screen.sees('Start the engine: systemctl start docker');
    app.show(() => sampleSnapshot());
    await screen.misses('Next try');
    await screen.sees('docker 28.5.1');
  });

  test('no components yet is said, not shown as an error', async () => {
    const app = createFakeApp({ snapshot: { ...sampleSnapshot(), components: [], ports: [], settled: false, engines: [] } });
    const screen = await openHarness({ app });
    await screen.sees('Querying the container engine');
    app.show(() => ({ settled: true, engines: [sampleEngine] }));
    await screen.sees('No containers yet.');
  });
});

describe('details', () => {
  test('show state, version, findings with their remedies, services', async () => {
    const screen = await openHarness({ size: { columns: 120, rows: 50 } });
    await screen.press('j', 'j');
    await screen.sees(
      'Sealed: 0 of 3 key shares given (5 exist)',
      'OpenBao 2.6.2',
      'http://127.0.0.1:8200',
      'warning: Restarted two minutes ago',
      '→ Unseal it with three of the five key shares.',
      /● secrets-manager-path +running +2m +openbao\/openbao:2.6.2/,
    );
  });

  test('watch CPU and memory of the selected component, and stop when another is selected', async () => {
    const screen = await openHarness({ size: { columns: 110, rows: 36 } });
    await screen.sees(/cpu +[▁-█ ]+ +\d+\.\d %/, /memory +[▁-█ ]+ +\d+ MB of 512 MB/);
    expect(screen.app.watchedStats()).toEqual([vault]);
    await screen.press('j');
    await screen.sees('sso-portal ──');
    expect(screen.app.watchedStats()).toEqual(['nas/sso-portal/sso-portal']);
    await screen.press('2', ']');
    await screen.sees('[Logs]');
    expect(screen.app.watchedStats()).toEqual([]);
  });

  test('never show a secret: not in fields, not in inspect (R2)', async () => {
    const screen = await openHarness({ size: { columns: 120, rows: 70 } });
    await screen.press('2', '[', '[', '[');
    await screen.sees(
      '[Fields]',
      /ADMIN_TOKEN +•••• set/,
      /SIGNUPS_ALLOWED +true/,
      /DOMAIN +https:\/\/vault.lan/,
      /WEBSOCKET_ENABLED +true \(default\)/,
      /SMTP_HOST +missing/,
    );
    expect(screen.frame()).not.toContain('sesame');
    await screen.press(']', ']');
    await screen.sees(
      '[Inspect]',
      'ADMIN_TOKEN=********',
      'postgres://vault:********@db:5432/vault',
      '"backup.password": "********"',
      'SIGNUPS_ALLOWED=true',
    );
    expect(screen.frame()).not.toMatch(/sesame|hunter2/);
  });

  test('mask every environment value in a read-only session (R32)', async () => {
    const screen = await openHarness({ readOnly: true, size: { columns: 120, rows: 70 } });
    await screen.press('i');
    await screen.sees('[Inspect]', 'SIGNUPS_ALLOWED=********', 'READ-ONLY');
    await screen.press('[', '[');
    await screen.sees(/SIGNUPS_ALLOWED +•••• set/, /SMTP_HOST +missing/);
  });

  test('inspect is searched: matches are counted, n and N go round', async () => {
    const screen = await openHarness();
    await screen.press('i', '/');
    await screen.type('destination');
    await screen.sees('12 matches');
    await screen.press('enter');
    const top = () => /(\d+) matches/.exec(screen.frame());
    expect(top()?.[1]).toBe('12');
    await screen.sees('/data/0');
    for (let index = 0; index < 8; index++) await screen.press('n');
    await screen.sees('/data/8');
    await screen.press('N');
    await screen.press('esc');
    await screen.misses('matches');
  });

  test('a component with several services shows the one that is chosen', async () => {
    const screen = await openHarness();
    await screen.press('j', 'i');
    await screen.sees('sso-portal · server');
    await screen.press('v');
    await screen.sees('sso-portal · redis');
  });
});

describe('ports', () => {
  test('tell address, exposure, owner, conflicts and what is worth knowing (R88)', async () => {
    const screen = await openHarness({ size: { columns: 200, rows: 60 } });
    await screen.sees(
      /0\.0\.0\.0:53\/udp +public +dns-filter +conflict with dns-filter-se/,
      /127\.0\.0\.1:8200\/tcp +loopback +secrets-manager-path/,
      /0\.0\.0\.0:22\/tcp +public +sshd/,
      'Published ports bypass the host firewall',
      '2 in conflict',
    );
    await screen.press('3', 'j');
    await screen.sees('dns-filter-second uses the same port. Only one of the two can use it.');
  });

  test('lead to the component that owns them, also when a filter hid it', async () => {
    const screen = await openHarness();
    await screen.press('/');
    await screen.type('media');
    await screen.press('enter', '3');
    for (let index = 0; index < 3; index++) await screen.press('j');
    await screen.press('enter');
    await screen.sees(/▸● reverse-proxy/);
  });

  test('keys of components act on the owner of the highlighted port, and on nothing where it has none', async () => {
    const screen = await openHarness();
    await screen.press('3', 's');
    await screen.sees('The port belongs to sshd, which is not a component.');
    expect(screen.app.started).toEqual([]);
    await screen.press('j', 's');
    expect(screen.app.started.map(({ flow, input }) => [flow, input.component?.id])).toEqual([['stop', 'dns-filter']]);
  });
});

describe('logs', () => {
  const lines = (from: number, count: number) => Array.from({ length: count }, (_, index) => `line ${from + index}`);

  test('follow the end; scrolling up pauses and says how many lines wait; G follows again', async () => {
    const screen = await openHarness();
    screen.log(vault, lines(1, 100));
    await screen.sees('line 100', 'following · 100 lines');
    await screen.press('4', 'k');
    await screen.sees('paused · 100 lines', /▸14:\d\d:\d\d {3}line 99/);
    screen.log(vault, lines(101, 20));
    await screen.sees('paused, 20 new lines', 'line 100');
    await screen.misses('line 101');
    await screen.press('G');
    await screen.sees('line 120', 'following · 120 lines');
  });

  test('what is shown stands exactly still under a flood; Space goes on', async () => {
    const screen = await openHarness();
    screen.log(vault, lines(1, 50));
    await screen.press('4');
    await screen.sees('line 50');
    await screen.press('space');
    await screen.sees('paused');
    const rows = () =>
      screen
        .frame()
        .split('\n')
        .filter((row) => / line \d/.test(row));
    const before = rows();
    screen.log(vault, lines(51, 5000));
    await screen.sees('paused, 5,000 new lines');
    expect(rows()).toEqual(before);
    await screen.press('space');
    await screen.sees('line 5050');
  });

  test('stand still also when the ring drops what is shown', async () => {
    const screen = await openHarness({ app: createFakeApp({ keepLines: 100 }) });
    screen.log(vault, lines(1, 50));
    await screen.press('4');
    await screen.sees('line 50');
    await screen.press('space');
    screen.log(vault, lines(51, 500));
    await screen.sees('paused, 500 new lines', 'line 50');
    await screen.press('pagedown');
    await screen.sees('line 51', 'paused, 200 new lines');
  });

  test('are filtered with smart case, and the status says how many match', async () => {
    const screen = await openHarness();
    screen.log(vault, ['Error: one', 'error: two', 'fine', 'ERROR three']);
    await screen.press('4', '/');
    await screen.type('error');
    await screen.sees('3 of 4 lines match');
    await screen.misses('fine');
    await screen.press('backspace', 'backspace', 'backspace', 'backspace', 'backspace');
    await screen.type('Error');
    await screen.sees('1 of 4 lines match');
    await screen.press('enter');
    screen.log(vault, ['Error: four']);
    await screen.sees('2 of 5 lines match', 'Error: four');
  });

  test('wrap, and tell their time in this zone, in UTC, as age or not at all', async () => {
    const screen = await openHarness();
    screen.log(vault, [`${'x'.repeat(80)}END`]);
    await screen.sees(/x+>/);
    await screen.misses('END');
    await screen.press('4', 'w');
    await screen.sees('END', '14:02:07');
    await screen.press('t');
    await screen.sees('14:02:07Z');
    await screen.press('t');
    await screen.sees(/ 1m {3}x+/);
    await screen.press('t');
    await screen.sees(/[│┃] {3}x+/);
    await screen.misses('14:02:07');
  });

  test('tell stderr from stdout and whose line it is', async () => {
    const screen = await openHarness();
    await screen.press('j');
    screen.log('nas/sso-portal/sso-portal', [
      { service: 'db', stream: 'stderr', text: 'checkpoint' },
      { service: 'server', text: 'listening' },
    ]);
    await screen.sees(/db +! checkpoint/, /server +listening/);
  });

  test('only the log that is looked at is followed', async () => {
    const screen = await openHarness();
    await screen.sees('Logs · password-vault');
    expect(screen.app.openLogs()).toEqual([vault]);
    await screen.press('j', 'j');
    await screen.sees('Logs · secrets-manager-path');
    expect(screen.app.openLogs()).toEqual([sealed]);
    await screen.resize({ columns: 80, rows: 24 });
    await expect.poll(() => screen.app.openLogs()).toEqual([]);
  });
});

describe('flows', () => {
  test('a destructive one lists what is lost; Enter confirms nothing, n refuses, y does it', async () => {
    const answers: boolean[] = [];
    const screen = await openHarness({
      flows: {
        async remove(operator, _input, signal) {
          const confirmed = await operator.confirm(
            { id: 'remove', title: 'Remove the container vault-1', consequences: ['Its writable layer: 86 MB'] },
            signal,
          );
          answers.push(confirmed);
          if (!confirmed) throw new Fault('refused.notConfirmed', 'Not confirmed, nothing was changed.', 'Run the command again.');
          return 'Removed vault-1';
        },
      },
    });
    await screen.press('x');
    await screen.sees('Remove the container vault-1', '▲ Its writable layer: 86 MB', 'y yes');
    await screen.press('enter', 'space');
    expect(answers).toEqual([]);
    await screen.press('n');
    await screen.sees('Not confirmed, nothing was changed.');
    await screen.press('x');
    await screen.sees('y yes');
    await screen.press('y');
    await screen.sees('Removed vault-1');
    expect(answers).toEqual([false, true]);
  });

  test('a confirmation shows what is sent; a yes that came with other keys is none', async () => {
    const answers: boolean[] = [];
    const request = 'DELETE /containers/vault-1?force=false&v=false';
    const screen = await openHarness({
      flows: {
        async remove(operator, _input, signal) {
          answers.push(
            await operator.confirm({ id: 'remove', title: 'Remove the container vault-1', request, consequences: ['all'] }, signal),
          );
          return 'Removed';
        },
      },
    });
    await screen.press('x');
    await screen.sees(request, 'y yes');
    await screen.send('my', 'yes');
    await screen.sees('y yes');
    expect(answers).toEqual([]);
    await screen.press('y');
    await screen.sees('● Removed');
    expect(answers).toEqual([true]);
  });

  test('where a confirmation does not fit, what is lost scrolls and the keys stay', async () => {
    const consequences = Array.from({ length: 20 }, (_, number) => `Volume ${number + 1} goes`);
    const request = `DELETE ${consequences.map((_, number) => `/volumes/data-${number + 1}`).join(', ')}`;
    const screen = await openHarness({
      size: { columns: 60, rows: 15 },
      flows: {
        async remove(operator, _input, signal) {
          await operator.confirm({ id: 'remove', title: 'Remove 20 volumes', request, consequences }, signal);
          return 'Removed';
        },
      },
    });
    await screen.press('x');
    await screen.sees('Volume 1 goes', 'Remove 20 volumes', 'DELETE /volumes/data-1,', 'y yes', / of \d\d/);
    const seen = [];
    for (let page = 0; page < 20; page++) {
      await screen.press('pagedown');
      seen.push(screen.frame());
    }
    expect(seen.join('\n')).toContain('Volume 20 goes');
    // The request, whose beginning is above the keys, is shown last and in full.
    await screen.sees('/volumes/data-20', 'y yes', /(\d\d) of \1/);
  });

  test('a production host’s name must be typed; pasted Enter does not confirm', async () => {
    let confirmed: boolean | undefined;
    const screen = await openHarness({
      flows: {
        async remove(operator, _input, signal) {
          confirmed = await operator.confirm({ id: 'remove', title: 'Remove', consequences: ['all'], typed: 'nas' }, signal);
          return 'Removed';
        },
      },
    });
    await screen.press('x');
    await screen.sees('Type nas to confirm:');
    await screen.press('y', 'enter');
    await screen.sees('The text does not match "nas".');
    await screen.press('backspace');
    await screen.paste('nas\r');
    await screen.sees('> nas_');
    expect(confirmed).toBeUndefined();
    await screen.press('enter');
    await screen.sees('Removed');
    expect(confirmed).toBe(true);
  });

  test('secrets are masked while typed and gone from the screen’s state afterwards', async () => {
    let share: unknown;
    const screen = await openHarness({
      flows: {
        async restart(operator, _input, signal) {
          share = await operator.ask({ kind: 'secret', id: 'share', label: 'Key share 1 of 3' }, signal);
          return 'Given';
        },
      },
    });
    await screen.press('r');
    await screen.sees('Key share 1 of 3');
    await screen.type('s3cret');
    await screen.sees('> ••••••_');
    expect(screen.frame()).not.toContain('s3cret');
    await screen.paste('-more');
    await screen.sees('> •••••••••••_');
    await screen.press('enter');
    await screen.sees('Given');
    expect(share).toBe('s3cret-more');
  });

  test('an answer that is wrong is said beside the question', async () => {
    let answer: unknown;
    const screen = await openHarness({
      flows: {
        async copy(operator, _input, signal) {
          answer = await operator.ask(
            {
              kind: 'text',
              id: 'path',
              label: 'Path in the container',
              check: (text) => (text.startsWith('/') ? undefined : 'A path begins with a slash.'),
            },
            signal,
          );
          return 'Copied';
        },
      },
    });
    await screen.press('c');
    await screen.type('etc');
    await screen.press('enter');
    await screen.sees('A path begins with a slash.');
    await screen.press('home');
    await screen.type('/');
    await screen.press('enter');
    await screen.sees('Copied');
    expect(answer).toBe('/etc');
  });

  test('one of several and several of many are chosen with the arrows and Space', async () => {
    const answers: unknown[] = [];
    const choices = ['images', 'volumes', 'networks'].map((value) => ({ value, label: value }));
    const screen = await openHarness({
      flows: {
        async prune(operator, _input, signal) {
          answers.push(await operator.ask({ kind: 'choice', id: 'one', label: 'Which one?', choices }, signal));
          answers.push(await operator.ask({ kind: 'several', id: 'many', label: 'Which ones?', choices, initial: ['images'] }, signal));
          return 'Pruned';
        },
      },
    });
    await screen.press('P');
    await screen.sees('Which one?');
    await screen.press('down', 'enter');
    await screen.sees('Which ones?', '[x] images');
    await screen.press('space', 'j', 'j', 'space');
    await screen.sees('[ ] images', '[x] networks');
    await screen.press('enter');
    await screen.sees('Pruned');
    expect(answers).toEqual(['volumes', ['networks']]);
  });

  test('progress does not block the screen, and Esc cancels through the signal', async () => {
    let cancelled = false;
    const screen = await openHarness({
      flows: {
        async stop(operator, _input, signal) {
          operator.progress({ id: 'stop', label: 'Stopping vault', fraction: 0.5 });
          return new Promise((_, reject) =>
            signal.addEventListener('abort', () => {
              cancelled = true;
              reject(signal.reason);
            }),
          );
        },
      },
    });
    await screen.press('s');
    await screen.sees('Stop a component: password-vault', 'Stopping vault ██████░░░░░░ 50 %', 'Esc cancels');
    await screen.press('j');
    await screen.sees(/▸▲ sso-portal/);
    await screen.press('esc');
    await screen.sees('Cancelled.');
    expect(cancelled).toBe(true);
  });

  test('what went wrong is said with what to do about it, without a stack', async () => {
    const screen = await openHarness({
      flows: {
        async restart() {
          throw new Fault('unreachable.engine', 'The engine broke off the connection.', 'Look at it with: systemctl status docker');
        },
        async stop() {
          throw new TypeError('Cannot read properties of undefined (reading "x")');
        },
      },
    });
    await screen.press('r');
    await screen.sees('✖ The engine broke off the connection.', '→ Look at it with: systemctl status docker');
    await screen.press('enter');
    await screen.misses('broke off');
    await screen.press('s');
    await screen.sees('Internal error');
    expect(screen.frame()).not.toMatch(/at .*\.tsx?:\d/);
  });

  test('what a flow shows stays until it is read', async () => {
    const screen = await openHarness({
      flows: {
        async df(operator) {
          operator.show({
            kind: 'table',
            title: 'Room',
            columns: ['KIND', 'SIZE'],
            rows: Array.from({ length: 60 }, (_, index) => [`image ${index}`, `${index} MB`]),
          });
          return '12 GB could be freed';
        },
      },
    });
    await screen.press('D');
    await screen.sees('Room', 'image 0', '12 GB could be freed');
    await screen.press('G');
    await screen.sees('image 59');
    await screen.press('esc');
    await screen.misses('image 59');
  });

  test('only what makes sense now is offered: start for what is stopped, stop for what runs', async () => {
    const screen = await openHarness();
    expect(screen.row('q quit')).toMatch(/s stop/);
    expect(screen.row('q quit')).not.toMatch(/S start/);
    await screen.press('S');
    await screen.sees('"Start a component" is not available: password-vault is sign-ups open.');
    await screen.press('j', 'j', 'j', 'j', 'j');
    await screen.sees(/▸○ ldap-directory/, 'S start');
    expect(screen.row('q quit')).not.toMatch(/s stop/);
    await screen.press('S');
    expect(screen.app.started.map(({ flow, input }) => [flow, input.component?.id, input.engineName])).toEqual([
      ['start', 'ldap-directory', 'nas'],
    ]);
  });

  test('what was not deployed from here cannot be updated, and no text promises to adopt it', async () => {
    const screen = await openHarness();
    expect(screen.row('q quit')).toMatch(/U update/);
    await screen.press('j', 'j', 'j', 'j', 'j');
    await screen.sees(/▸○ ldap-directory/);
    expect(screen.row('q quit')).not.toMatch(/U update/);
    await screen.press('U');
    await screen.sees('ldap-directory was not deployed by Quarterdeck. Use the tool that deployed it.');
    expect(screen.app.started).toEqual([]);
    await screen.press(':');
    await screen.type('deploy ldap');
    await screen.sees('▸ do    Deploy or change a component: ldap-directory');
  });

  test('in practice everything is offered as what was deployed from here, before that is written down', async () => {
    const practice = { folder: '/practice' } as unknown as PracticeAccess;
    const screen = await openHarness({ app: createFakeApp({ app: { practice } }) });
    await screen.press('j', 'j', 'j', 'j', 'j');
    await screen.sees(/▸○ ldap-directory/);
    expect(screen.row('q quit')).toMatch(/U update/);
  });

  test('paths below the home of this machine begin with ~ in what went wrong', async () => {
    const path = `${process.env.HOME}/stack/media-server/compose.yaml`;
    const screen = await openHarness({
      flows: {
        async df() {
          throw new Fault('config.compose', `${path} is no compose file.`, `Mend ${path}.`);
        },
      },
    });
    await screen.press('D');
    await screen.sees('~/stack/media-server/compose.yaml is no compose file.', 'Mend ~/stack/media-server/compose.yaml.');
    await screen.misses(path);
  });

  test('one key pauses what runs and lets go on what is paused', async () => {
    const screen = await openHarness();
    await screen.press('p');
    await screen.press('/');
    await screen.type('download');
    await screen.press('enter');
    await screen.sees('p unpause');
    await screen.press('p');
    expect(screen.app.started.map(({ flow }) => flow)).toEqual(['pause', 'unpause']);
  });

  test('a read-only session offers nothing that changes anything (R32)', async () => {
    const screen = await openHarness({ readOnly: true });
    expect(screen.row('q quit')).not.toMatch(/stop|restart|pause|shell|remove|copy/);
    await screen.press('s', 'x', 'e', 'P');
    await screen.sees('This session is read-only');
    expect(screen.app.started).toEqual([]);
    await screen.press('D');
    expect(screen.app.started.map(({ flow }) => flow)).toEqual(['df']);
  });

  test('a question survives a resize, also through a terminal that is too small', async () => {
    const answers: boolean[] = [];
    const screen = await openHarness({
      flows: {
        async remove(operator, _input, signal) {
          answers.push(await operator.confirm({ id: 'remove', title: 'Remove it', consequences: ['everything'] }, signal));
          return 'Removed';
        },
      },
    });
    await screen.press('x');
    await screen.sees('Remove it');
    await screen.resize({ columns: 80, rows: 24 });
    await screen.sees('Remove it', 'y yes');
    await screen.resize({ columns: 40, rows: 10 });
    await screen.sees('40 x 10', '60 x 15');
    // The prompt is not visible, so it cannot be answered.
    await screen.press('y');
    expect(answers).toEqual([]);
    await screen.resize({ columns: 200, rows: 60 });
    await screen.sees('Remove it');
    await screen.press('y');
    await screen.sees('Removed');
    expect(answers).toEqual([true]);
  });
});

describe('keys', () => {
  test('that arrive together are taken apart', async () => {
    const screen = await openHarness();
    await screen.send('jjj');
    await screen.sees(/▸◌ vulnerability-scanner/);
    await screen.send('/media\r');
    await screen.sees('/media', /▸● media-server/, ': commands');
    await screen.send('\x1b');
    await screen.send('\x1b[B\x1b[Bk');
    await screen.until((frame) => /▸/.test(frame), 'a selection');
  });

  test('Esc and a letter in one read are Esc and the letter', async () => {
    const screen = await openHarness();
    await screen.press('?');
    await screen.sees('┏ Help ');
    await screen.send('\x1bj');
    await screen.misses('┏ Help ');
    await screen.sees(/▸▲ sso-portal/);
  });

  test('an escape sequence that comes in pieces is one key', async () => {
    const screen = await openHarness();
    await screen.send('\x1b', '[', 'B');
    await screen.sees(/▸▲ sso-portal/);
  });

  test('pasted text is never keys', async () => {
    const screen = await openHarness();
    await screen.paste('sxq\rremove everything');
    await screen.sees('Pasted text is ignored here.');
    expect(screen.app.started).toEqual([]);
    expect(screen.quitted()).toBe(false);
    // The same applies to a terminal without bracketed paste.
    await screen.send('docker compose stop; systemctl restart everything');
    expect(screen.app.started).toEqual([]);
  });

  test('a paste goes where something is typed, as one clean line', async () => {
    const screen = await openHarness();
    await screen.press('/');
    await screen.paste('media\x1b[2J\n');
    await screen.sees('/media_', /▸● media-server/);
  });

  test('can be changed in the settings, and the footer shows the changed ones', async () => {
    const screen = await openHarness({ keys: { stop: 'ctrl+x', quit: ['Q'] } });
    expect(screen.row('Q quit')).toMatch(/Ctrl-X stop/);
    await screen.press('s', 'q');
    expect(screen.quitted()).toBe(false);
    await screen.send('\x18');
    expect(screen.app.started.map(({ flow }) => flow)).toEqual(['stop']);
  });

  test('are the changed ones in sentences too', async () => {
    const screen = await openHarness({ keys: { filter: '|', zoom: '%' } });
    await screen.press('4', 'n');
    await screen.sees('No search text. Press | to enter a text.');
    await screen.send('%');
    await screen.sees('% shows all panes');
  });

  test('q and Ctrl-C leave', async () => {
    const one = await openHarness();
    await one.press('q');
    expect(one.quitted()).toBe(true);
    const other = await openHarness();
    await other.press('ctrl+c');
    expect(other.quitted()).toBe(true);
  });

  test('o copies the address of the page', async () => {
    const screen = await openHarness();
    await screen.press('o');
    await screen.sees('Copied http://127.0.0.1:8180');
    expect(screen.copied).toEqual(['http://127.0.0.1:8180']);
  });

  test('R asks the selected component again', async () => {
    const screen = await openHarness();
    await screen.press('R');
    expect(screen.app.refreshed).toEqual([vault]);
  });
});

describe('panes', () => {
  test('80x24 shows one at a time: numbers and Tab change it', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 } });
    await screen.sees('[1 Components]', 'password-vault');
    await screen.press('3');
    await screen.sees('[3 Ports]', '0.0.0.0:22/tcp');
    await screen.press('tab');
    await screen.sees('[4 Logs]');
    await screen.press('tab');
    await screen.sees('[1 Components]');
    await screen.press('shift+tab');
    await screen.sees('[4 Logs]');
  });

  test('z shows one alone and all again', async () => {
    const screen = await openHarness();
    await screen.press('4', 'z');
    await screen.sees('z shows all panes');
    await screen.misses('┏ Components');
    await screen.press('z');
    await screen.sees('╭ Components');
  });

  test('a terminal that is too small says what it needs, and works again when it grows', async () => {
    const screen = await openHarness({ size: { columns: 40, rows: 10 } });
    await screen.sees('This terminal has 40 x 10 characters,');
    await screen.press('s', 'x');
    expect(screen.app.started).toEqual([]);
    await screen.resize({ columns: 80, rows: 24 });
    await screen.sees('password-vault');
    await screen.resize({ columns: 3, rows: 2 });
    await screen.resize({ columns: 40, rows: 10 });
    await screen.press('q');
    expect(screen.quitted()).toBe(true);
  });
});

test('what a limit ended was not cancelled by anybody: it says that it took too long', async () => {
  const late = () => Promise.reject(new DOMException('The operation timed out.', 'TimeoutError'));
  const screen = await openHarness({ flows: { restart: late } });
  await screen.press('r');
  await screen.sees('"Restart a component" timed out.');
});

describe('palette', () => {
  test('finds a flow for the selected component by a few letters and starts it', async () => {
    const screen = await openHarness();
    await screen.press(':');
    await screen.type('resta');
    await screen.sees('Restart a component: password-vault');
    await screen.press('enter');
    expect(screen.app.started.map(({ flow, input }) => [flow, input.component?.id])).toEqual([['restart', 'password-vault']]);
    await screen.misses('┏ Find ');
  });

  test('finds a flow by its verb, before components that match by what is said about them', async () => {
    const screen = await openHarness();
    await screen.press(':');
    await screen.type('df');
    await screen.sees('Show disk usage');
    expect(screen.frame().indexOf('Show disk usage')).toBeLessThan(screen.frame().indexOf('dns-filter-second'));
    await screen.press('enter');
    expect(screen.app.started.map(({ flow }) => flow)).toEqual(['df']);
  });

  test('finds what can be deployed by a word of its name, before the selected component that it has nothing to do with', async () => {
    const app = createFakeApp();
    const entry = (id: string, kind: string) => ({ id, kind, deploy: 'compose', product: { name: id } }) as CatalogEntry;
    const entries = [entry('password-vault', 'Password vault server'), entry('recipe-box', 'Recipes and shopping lists')];
    const screen = await openHarness({ app: { ...app, catalog: { ...app.catalog, entries } } });
    await screen.press(':');
    await screen.type('deploy recipe');
    await screen.sees('▸ do    Deploy or change a component: recipe-box');
    await screen.press('enter');
    expect(app.started.map(({ flow, input }) => [flow, input.entry?.id])).toEqual([['deploy', 'recipe-box']]);
  });

  test('finds a verb and a component together, whichever is selected, by id or by the name of the product', async () => {
    const screen = await openHarness();
    for (const [typed, title, flow, id] of [
      ['update jelly', 'Update to the newest images: media-server', 'update', 'media-server'],
      ['rss stop', 'Stop a component: rss-reader', 'stop', 'rss-reader'],
      ['update vault', 'Update to the newest images: password-vault', 'update', 'password-vault'],
    ] as const) {
      await screen.press(':');
      await screen.type(typed);
      await screen.sees(`▸ do    ${title}`);
      await screen.press('enter');
      const last = screen.app.started.at(-1);
      expect([last?.flow, last?.input.component?.id]).toEqual([flow, id]);
      await screen.sees(new RegExp(`▸. ${id}`));
    }
  });

  test('offers for another component only what makes sense there', async () => {
    const screen = await openHarness({ readOnly: true });
    await screen.press(':');
    await screen.type('stop rss');
    await screen.misses('Stop a component');
  });

  test('finds a secret by the verb and its component, and takes its name along', async () => {
    const app = createFakeApp();
    const entry = {
      id: 'rss-reader',
      fields: [{ name: 'dbPassword', env: 'DB_PASSWORD', secret: true }],
      operations: [],
      calls: {},
    } as unknown as CatalogEntry;
    const screen = await openHarness({
      app: { ...app, catalog: { ...app.catalog, get: (id) => (id === 'rss-reader' ? entry : undefined) } },
    });
    await screen.press(':');
    await screen.type('rotate rss');
    await screen.sees('▸ do    Rotate a secret: rss-reader DB_PASSWORD');
    await screen.press('enter');
    expect(app.started.map(({ flow, input }) => [flow, input.words])).toEqual([['secrets-rotate', ['rss-reader', 'DB_PASSWORD']]]);
  });

  test('finds components, also those that a filter hides, and goes there', async () => {
    const screen = await openHarness();
    await screen.press('/');
    await screen.type('vault');
    await screen.press('enter', ':');
    await screen.type('dns-filter-s');
    await screen.press('enter');
    await screen.sees(/▸○ dns-filter-second/);
  });

  test('moves with the arrows, tells when nothing matches, and Esc closes it', async () => {
    const screen = await openHarness();
    await screen.press(':', 'down', 'down');
    await screen.sees('3 of ');
    await screen.type('zzzzz');
    await screen.sees('No matches.');
    await screen.press('enter');
    await screen.misses('┏ Find ');
    expect(screen.app.started).toEqual([]);
  });
});

describe('what is left to do', () => {
  test('stays on the row and in the overview until it is done, with how to confirm it (R20, R47)', async () => {
    const screen = await openHarness({ size: { columns: 120, rows: 48 } });
    await screen.press('k', 'k', '2', 'z', 'G');
    await screen.sees(
      'To do  1 of 3 done',
      '☐ Create the first account, then close signups',
      'To confirm tasks that cannot be checked automatically, press : and type tasks.',
    );
    expect(screen.frame()).not.toContain('Look at the admin panel once');
    await screen.press('z', '1');
    await screen.sees(/password-vault ☐/);
    screen.app.show(({ components }) => ({
      components: components.map((one) => ({ ...one, setupTasks: one.setupTasks.map((task) => ({ ...task, done: true })) })),
    }));
    await screen.misses(/password-vault ☐/);
    await screen.sees('To do: nothing, 3 of 3 done');
  });

  test('a default password is a warning, not a remark (R47)', async () => {
    const screen = await openHarness({ size: { columns: 120, rows: 48 } });
    screen.app.show(({ components }) => ({
      components: components.map((one) => ({ ...one, setupTasks: one.setupTasks.map((task) => ({ ...task, urgent: true })) })),
    }));
    await screen.press('k', 'k');
    await screen.sees(/password-vault ▲/, '▲ Create the first account, then close signups');
  });

  test('a backup that is old stands in the row; one of today does not, nor that there never was one', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 } });
    await screen.sees(/password-vault .*backup 9d old/);
    const backup = (atMs: number | undefined) =>
      screen.app.show(({ components }) => ({
        components: components.map((one) => (one.id === 'password-vault' ? { ...one, backup: { atMs } } : one)),
      }));
    backup(sampleNowMs - hour);
    await screen.sees(/password-vault .*Vaultwarden/);
    backup(sampleNowMs - 30 * 24 * hour);
    await screen.sees(/password-vault .*backup 30d old/);
    backup(undefined);
    await screen.sees(/password-vault .*Vaultwarden/);
  });
});

describe('what broke off', () => {
  const broken = {
    engineName: 'nas',
    run: '20261120T140000000-a1b2c3',
    by: 'ann@nas',
    startedAt: '2026-11-20T14:00:00.000Z',
    components: ['password-vault'],
    summary: 'Stopped while creating the containers of password-vault.',
  };

  test('is named above the panes with the way to go on, until a flow has settled it', async () => {
    let unfinished = [broken];
    const app = createFakeApp({ unfinished: () => unfinished });
    const screen = await openHarness({ size: { columns: 120, rows: 36 }, app });
    await screen.sees('Interrupted change to password-vault. Stopped while creating the containers of password-vault.', ':recover resumes');
    await screen.press(':');
    await screen.type('recover');
    await screen.sees('▸ do    Resume interrupted changes');
    unfinished = [];
    await screen.press('enter');
    await screen.misses('Interrupted change');
    expect(screen.app.started.map(({ flow }) => flow)).toEqual(['recover']);
  });

  test('of a narrow screen the way to go on is never cut', async () => {
    const long = { ...broken, components: ['password-vault', 'secrets-manager-path', 'vulnerability-scanner'] };
    const screen = await openHarness({ size: { columns: 80, rows: 24 }, app: createFakeApp({ unfinished: () => [broken, long] }) });
    await screen.sees(/Interrupted change to password-vault, secrets-manager-pa.*… {2}:recover resumes/);
  });

  test('what did not come back is named, what an operator stopped is not', async () => {
    const screen = await openHarness();
    screen.app.show(({ components }) => ({
      components: components.map((one) => ({
        ...one,
        deployed: true,
        services: one.services.map((service) => ({ ...service, kept: true })),
      })),
    }));
    await screen.sees('Missing: rss-reader, wiki, dns-filter-second.', ':up starts it');
    await screen.sees('Sealed: secrets-manager-path.', ':unseal unseals it');
  });
});

describe('what comes from outside', () => {
  const hostile = 'evil\x1b[2J\x1b]0;owned\x07\u202Egnp.\u200b世界'.repeat(3);

  test('cannot draw, retitle or reorder: names, images, messages, log lines', async () => {
    const component = sampleComponent({
      id: hostile,
      group: 'other',
      kind: hostile,
      product: hostile,
      image: hostile,
      state: 'running',
      agoMs: minute,
      detail: hostile,
      origin: hostile,
      url: `http://${hostile}`,
      known: false,
    });
    const app = createFakeApp({ snapshot: { ...sampleSnapshot(), components: [component] } });
    const screen = await openHarness({ app, theme: colourTheme });
    await screen.sees('evil');
    await screen.press('2');
    await screen.press(':');
    expect(screen.raw().replace(/\x1b\[[0-9;]*m/g, '')).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]/);
    await screen.press('esc', 'o');
    expect(screen.copied.join('')).not.toMatch(/[\x1b\u202e]/);
  });
});
