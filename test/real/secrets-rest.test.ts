import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { componentFiles, type DeployFixture, setFixture } from './deploy-fixture.ts';
import { describeBeside, describeOnce, type RealEngineKind } from './real-engines.ts';
import { type Composer, findFreePort } from './stack.ts';

const ways: readonly { kind: RealEngineKind; composer: Composer }[] = [
  { kind: 'docker', composer: 'compose-2' },
  { kind: 'docker', composer: 'compose-1' },
  { kind: 'podman', composer: 'podman-compose' },
];

/** Where docs/secrets.md says that a secret of a deployed component is; the console's own sealed file is read below. */
const allowed = (id: string, composer: Composer) => [
  'the sealed file',
  `configuration of the container ${id}${composer === 'compose-2' ? '-main-1' : '_main_1'}`,
  'environment of the compose process, while it runs',
  ...(composer === 'podman-compose' ? ['a file in memory, while podman-compose runs'] : []),
];

for (const { kind, composer } of ways) {
  const group = describeOnce(composer === 'compose-1', describeBeside);
  group(kind, `where secrets rest with ${composer}`, (engine) => {
    const id = `marked-${composer}`;
    let fixture: DeployFixture;

    beforeAll(async () => {
      fixture = await setFixture(engine, composer);
      const port = await findFreePort();
      await fixture.catalog(
        componentFiles(
          id,
          `services:
  main:
    image: busybox:latest
    restart: unless-stopped
    command: ["sh", "-c", "trap 'exit 0' TERM; mkdir /www; httpd -f -p 80 -h /www & wait"]
    environment:
      TYPED: "\${TYPED:?kept by Quarterdeck, use quarterdeck compose}"
      MADE_URL: "postgres://me:\${MADE:?kept by Quarterdeck, use quarterdeck compose}@db/it"
    ports:
      - "\${WEB_BIND:-127.0.0.1}:\${WEB_PORT:-${port}}:80/tcp"
`,
          `ports: {web: {role: page, exposure: loopback, web: true}}
fields:
  - {name: typed, type: secret-string, secret: true, required: true, target: environment, env: TYPED, generator: "alphanumeric:32"}
  - {name: made, type: secret-string, secret: true, required: true, target: environment, env: MADE, generator: "hex:24"}
`,
        ),
      );
    });
    afterAll(() => fixture.leave());

    it('they are in the vault, sealed, and in what the engine keeps, and nowhere else', { timeout: 240_000 }, async () => {
      // What a value looks like is known only afterwards, so everything is kept: arguments of each program, and the files as they are while compose runs.
      const hold = await fixture.holdCompose();
      const deploying = fixture.operator.traceExec(['deploy', id, '--yes']);
      await hold.reached();
      const during = [await textsBelow(fixture.stack), await textsBelow(fixture.operator.home), await processes()];
      await hold.release();
      const { outcome, execs } = await deploying;
      expect(outcome.code, outcome.stdout + outcome.stderr).toBe(0);

      const { Env = [] } = (await fixture.container(id, 'main'))?.Config ?? {};
      const typed = Env.find((line) => line.startsWith('TYPED='))?.slice('TYPED='.length) ?? '';
      const made = /^MADE_URL=postgres:\/\/me:([0-9a-f]{48})@/m.exec(Env.join('\n'))?.[1] ?? '';
      expect(typed).toMatch(/^[A-Za-z0-9]{32}$/);
      expect(made).not.toBe('');

      const broken = await fixture.operator.run(['deploy', id, '--set', 'WEB_PORT=notaport', '--yes']);
      expect(broken.code).not.toBe(0);
      const after = [await textsBelow(fixture.stack), await textsBelow(fixture.operator.home)];
      const seen: Record<string, string> = {
        'the terminal': outcome.stdout + outcome.stderr,
        'arguments of programs': execs.join('\n'),
        'the stack, the console’s own files and the processes while compose ran': during.join('\n'),
        'the stack and the console’s own files afterwards': after.join('\n'),
      };
      expect(execs.some((line) => line.includes('compose'))).toBe(true);
      expect(seen['the stack and the console’s own files afterwards']).toContain('"step":"up:');
      for (const [where, text] of Object.entries(seen)) {
        for (const secret of [typed, made, Buffer.from(typed).toString('base64'), Buffer.from(made).toString('base64')])
          expect(text.includes(secret), `a secret is in ${where}`).toBe(false);
      }
      if (composer === 'podman-compose') {
        // Other stacks of this machine have such a folder too while they are changed.
        for (const name of (await readdir('/dev/shm')).filter((one) => one.startsWith('quarterdeck-'))) {
          const text = await textsBelow(join('/dev/shm', name)).catch(() => '');
          for (const secret of [typed, made]) expect(text.includes(secret), 'a secret is left in memory').toBe(false);
        }
      }
    });

    it('and the list of resting places says exactly that', async () => {
      const { stdout } = await fixture.operator.run(['secrets', 'list']);
      for (const variable of ['TYPED', 'MADE']) {
        const lines = stdout.split('\n');
        const from = lines.findIndex((line) => line.includes(`/${id}/${variable} `));
        const engines = lines.slice(from + 1).slice(
          0,
          lines.slice(from + 1).findIndex((line) => !line.startsWith('  ')),
        );
        const named = engines.map((line) =>
          line
            .trim()
            .replace(/: [^:]*$/, '')
            .replace(/^.*secrets\.sealed$/, 'the sealed file'),
        );
        expect(named).toEqual(allowed(id, composer));
      }
    });
  });
}

/** Every file below a folder, hidden ones and all, as one text. */
async function textsBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1'));
  return (await Promise.allSettled(texts)).map((one) => (one.status === 'fulfilled' ? one.value : '')).join('\n');
}

/** What everybody on this machine can see of what runs. */
async function processes(): Promise<string> {
  return (await promisify(execFile)('ps', ['-eo', 'args', '-ww'])).stdout;
}
