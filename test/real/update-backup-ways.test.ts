import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Terminal } from '../pty/terminal.ts';
import { componentFiles, type DeployFixture, setFixture } from './deploy-fixture.ts';
import { describeAgain, describeReal, type RealEngineKind } from './real-engines.ts';
import { describeWithRegistry } from './registry.ts';
import type { Composer } from './stack.ts';

/** Who puts the questions, and where backups go: each once, with each engine once. */
const ways: readonly { kind: RealEngineKind; composer: Composer; to: 'folder' | 'restic'; on: 'a terminal' | 'the console' }[] = [
  { kind: 'docker', composer: 'compose-1', to: 'restic', on: 'a terminal' },
  { kind: 'podman', composer: 'podman-compose', to: 'folder', on: 'the console' },
];

const id = 'careful-db';
const mark = 'marked-restic-password';

/** Notes in its database and in a file which release has worked on its data. The release named `broken` brings both into another form, and ends. */
const program = `export PGPASSWORD="$KEEPER_PASSWORD"
ask() { psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --host=db --username=keeper --dbname=keeper "$@"; }
until ask --command='select 1' >/dev/null 2>&1; do sleep 0.2; done
if [ "$RELEASE" = broken ]; then
  ask --command='alter table releases rename to releases_of_the_new_form' 2>/dev/null
  echo broken >/data/releases
  echo the new form is unreadable
  exit 3
fi
ask --command='create table if not exists releases (name text)' --command="insert into releases values ('$RELEASE')"
echo "$RELEASE" >>/data/releases
touch /ready
trap 'exit 0' TERM
sleep 3600 & wait
`;

const compose = (repository: string) => `services:
  main:
    image: ${repository}:latest
    restart: unless-stopped
    depends_on:
      db:
        condition: service_healthy
    environment:
      KEEPER_PASSWORD: "\${KEEPER_PASSWORD:?kept by Quarterdeck, use quarterdeck compose}"
    volumes:
      - data:/data
  db:
    image: ${repository}-db:latest
    restart: unless-stopped
    environment:
      POSTGRES_DB: keeper
      POSTGRES_USER: keeper
      POSTGRES_PASSWORD: "\${KEEPER_PASSWORD:?kept by Quarterdeck, use quarterdeck compose}"
    volumes:
      - db:/var/lib/postgresql/data
    healthcheck:
      test: ["CMD", "pg_isready", "-h", "127.0.0.1", "-U", "keeper", "-d", "keeper"]
      interval: 2s
      timeout: 5s
      retries: 10
volumes:
  data: {}
  db: {}
`;
const more = `fields:
  - {name: password, type: secret-string, secret: true, required: true, target: environment, env: KEEPER_PASSWORD, generator: "alphanumeric:32"}
volumes:
  /data: {description: what it keeps}
  /var/lib/postgresql/data: {description: database}
backup:
  - id: database
    volume: db
    method: dump
    service: db
    dump: [sh, -c, exec pg_dump --format=custom --compress=0 --username=keeper --dbname=keeper]
    restore:
      - sh
      - -ec
      - |
        dropdb --force --if-exists --username=keeper --maintenance-db=template1 keeper
        createdb --username=keeper --maintenance-db=template1 --template=template0 keeper
        pg_restore --no-owner --single-transaction --username=keeper --dbname=keeper
  - {id: data, volume: data, method: stop, service: main, why: it is one file}
upgrade: {rollback: unsafe}
calls: {there: {title: Is it there?, reads: true, exec: {service: main, argv: [test, -e, /ready]}}}
probe: {call: there, states: [{when: ok && status == 0, state: healthy, severity: ok}, {when: 'true', state: away, severity: error}]}
`;

describeWithRegistry('an update that fails, gone back from by who is asked', (registry) => {
  for (const { kind, composer, to, on } of ways) {
    (kind === 'podman' ? describeAgain : describeReal)(
      kind,
      `a dumped database and a volume, with ${composer}, out of a ${to}, on ${on}`,
      (engine) => {
        /** An engine keeps the images of an earlier run. */
        const repository = `quarterdeck/${id}-${kind}-${Date.now()}`;
        let fixture: DeployFixture;
        let engineName: string;

        beforeAll(async () => {
          fixture = await setFixture(engine, composer);
          engineName = join(dirname(fixture.stack), 'backups');
          const settings = join(fixture.operator.home, 'config', 'config.yaml');
          await mkdir(dirname(settings), { recursive: true });
          const catalogFolder = join(dirname(dirname(fixture.stack)), 'catalog');
          await writeFile(
            settings,
            `catalogFolder: ${catalogFolder}\nbackups: {local: "${to === 'restic' ? `restic:${engineName}` : engineName}"}\n`,
          );
          await fixture.catalog(componentFiles(id, compose(repository), more));
          await registry.push(`${repository}-db:latest`, { from: 'postgres:16-alpine' });
          await push('first');
          await run('deploy', id, '--yes');
        }, 240_000);
        afterAll(() => fixture?.leave());

        const push = (release: string) =>
          registry.push(`${repository}:latest`, {
            from: 'postgres:16-alpine',
            env: { RELEASE: release },
            files: { 'work.sh': program },
            command: ['sh', '/work.sh'],
          });
        /** Podman does one thing after the other: on a busy machine it may not answer in time at all, before anything was begun. */
        const run = async (...args: string[]): Promise<string> => {
          for (let left = 4; ; left--) {
            const { code, stdout, stderr } = await fixture.operator.run(args);
            if (code === 3 && left > 0) continue;
            expect(code, stdout + stderr).toBe(0);
            return stdout;
          }
        };
        const container = async () => (await fixture.container(id, 'main')) ?? expect.fail('it is not there');
        const inside = async (service: string, ...argv: string[]) => {
          return (await run('exec', id, '--service', service, '--', ...argv)).trim().split('\n');
        };
        const sql = (statement: string) => inside('db', 'psql', '-U', 'keeper', '-d', 'keeper', '-Atc', statement);

        it('data, image and secret of before are there again, and it is healthy', { timeout: 360_000 }, async () => {
          await sql("insert into releases values ('written by a person')");
          const before = { image: (await container()).Image, env: (await container()).Config.Env, text: await fixture.file(`${id}/.env`) };
          await push('broken');
          const terminal = fixture.operator.open(on === 'a terminal' ? ['update', id] : [], { columns: 120, rows: 48 });
          if (on === 'a terminal') await answerOnLines(terminal);
          else await answerInConsole(terminal);

          expect(await sql('select name from releases')).toEqual(['first', 'written by a person', 'first']);
          expect(await sql("select count(*) from pg_tables where tablename = 'releases_of_the_new_form'")).toEqual(['0']);
          expect(await inside('main', 'cat', '/data/releases')).toEqual(['first', 'first']);
          const now = await container();
          expect(now.Image).toBe(before.image);
          expect(now.Config.Env.filter((line) => /^KEEPER_PASSWORD=|^RELEASE=/.test(line)).sort()).toEqual(
            before.env.filter((line) => /^KEEPER_PASSWORD=|^RELEASE=/.test(line)).sort(),
          );
          expect(await fixture.file(`${id}/.env`)).toBe(before.text);
          expect(await run('status', id)).toMatch(new RegExp(`${id} +healthy`));
          expect(await run('recover')).toContain('No interrupted changes');
          expect(await fixture.operator.ownFiles()).not.toContain(mark);
          if (to === 'folder') expect(await readdir(join(engineName, id))).toHaveLength(1);
        });
      },
    );
  }
});

/** The question that waits for an answer stands last. */
const asks = (question: string) => (terminal: Terminal) => (terminal.screen().findLast((line) => line !== '') ?? '').includes(question);

async function answerOnLines(terminal: Terminal): Promise<void> {
  await terminal.sees(asks('Action'), 60_000);
  expect(terminal.text()).toContain('Back up, then update');
  terminal.type('\r');
  await terminal.sees(asks('Restic repository password:'), 60_000);
  terminal.type(`${mark}\r`);
  await terminal.sees(asks('Passphrase that seals the secrets in backups:'), 60_000);
  terminal.type('\r');
  await terminal.sees(asks('How to continue'), 240_000);
  expect(terminal.scrollback().join('').replaceAll(/\s+/g, '')).toContain(`Backupof${id}beforetheupdate:`);
  terminal.type('2\r');
  await terminal.sees(asks('Action'), 60_000);
  terminal.type('\r');
  await terminal.sees(asks('Continue? [y/N]'), 120_000);
  terminal.type('y\r');
  const { code } = await terminal.exit(240_000);
  expect(code, terminal.text()).toBe(0);
  expect(terminal.scrollback().join(' ').replaceAll(/\s+/g, ' ')).toContain('data, images, files and secrets');
}

async function answerInConsole(terminal: Terminal): Promise<void> {
  await terminal.sees(new RegExp(`${id} +healthy`), 60_000);
  terminal.press('U');
  await terminal.sees('Back up, then update', 60_000);
  terminal.press('enter');
  await terminal.sees('Passphrase that seals the secrets in backups', 60_000);
  terminal.press('enter');
  await terminal.sees('How to continue', 240_000);
  terminal.press('down', 'enter');
  await terminal.sees('Restore the backup', 60_000);
  await terminal.sees('The data is replaced with that of', 60_000);
  terminal.press('enter');
  await terminal.sees(/(?:y|Enter) yes/, 120_000);
  terminal.press('y');
  await terminal.sees('data, images, files and secrets', 240_000);
  terminal.press('esc');
  await terminal.sees(new RegExp(`${id} +healthy`), 60_000);
  terminal.press('q');
  expect((await terminal.exit()).code).toBe(0);
}
