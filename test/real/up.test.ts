import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from './ask.ts';
import { componentFiles, type DeployFixture, pageAt, setFixture } from './deploy-fixture.ts';
import { describeAgain, describeReal, type RealEngineKind } from './real-engines.ts';
import { type Composer, findFreePort } from './stack.ts';

const ways: readonly { kind: RealEngineKind; composer: Composer }[] = [
  { kind: 'docker', composer: 'compose-2' },
  { kind: 'podman', composer: 'podman-compose' },
];

for (const { kind, composer } of ways) {
  (kind === 'podman' ? describeAgain : describeReal)(kind, `up after a power cut with ${composer}`, (engine) => {
    const [provider, consumer, unlucky] = ['back-runtime', 'back-asker', 'back-unlucky'] as const;
    let fixture: DeployFixture;
    const ports: Record<string, number> = {};
    const squatters: Server[] = [];

    beforeAll(async () => {
      fixture = await setFixture(engine, composer);
      for (const id of [provider, consumer, unlucky]) {
        ports[id] = await findFreePort();
        await fixture.catalog(componentFiles(id, webServer(id, ports[id]), asked(id)));
      }
      for (const id of [consumer, unlucky, provider]) {
        const { code, stdout, stderr } = await fixture.operator.run(['deploy', id, '--yes']);
        expect(code, stdout + stderr).toBe(0);
      }
    });
    afterAll(async () => {
      for (const server of squatters) server.close();
      await fixture?.leave();
      await ask(engine, `/networks/quarterdeck-${provider}`, { method: 'DELETE' });
    });
    const remove = async (id: string) => {
      const container = (await fixture.container(id, 'server')) ?? expect.fail(`no ${id}`);
      expect((await ask(engine, `/containers/${container.Id}?force=true`, { method: 'DELETE' })).status).toBeLessThan(300);
    };
    const times = async (id: string) => {
      const container = (await fixture.container(id, 'server')) ?? expect.fail(`no ${id}`);
      const { Created, State } = JSON.parse((await ask(engine, `/containers/${container.Id}/json`)).body) as {
        Created: string;
        State: { StartedAt: string };
      };
      return { madeMs: Date.parse(Created), startedMs: Date.parse(State.StartedAt) };
    };

    it('says that everything runs, where it does', async () => {
      const { code, stdout } = await fixture.operator.run(['up']);
      expect([code, stdout.trim()]).toEqual([0, 'Nothing to start: all deployed components that should be running are running.']);
    });

    it('makes containers that are gone again, what others need first, and names what did not come back', async () => {
      const token = (await fixture.container(consumer, 'server'))?.Config.Env.find((line) => line.startsWith('TOKEN='));
      for (const id of [provider, consumer, unlucky]) await remove(id);
      const server = createServer().listen(ports[unlucky], '127.0.0.1');
      squatters.push(server);

      const { code, stdout, stderr } = await fixture.operator.run(['up', '--yes']);
      const words = stderr.replaceAll(/\s+/g, ' ');
      expect(code, stdout + stderr).toBe(1);
      expect(words).toContain(`Failed to start: ${unlucky} (`);
      expect(words).toContain(`Started: ${provider}, ${consumer}.`);
      expect(await pageAt(ports[provider] ?? 0)).toBe(provider);
      expect(await pageAt(ports[consumer] ?? 0)).toBe(consumer);
      expect((await times(provider)).startedMs).toBeLessThanOrEqual((await times(consumer)).madeMs);
      expect((await fixture.container(consumer, 'server'))?.Config.Env).toContain(token);

      await new Promise((resolve) => server.close(resolve));
      const again = await fixture.operator.run(['up', '--yes']);
      expect(again.code, again.stdout + again.stderr).toBe(0);
      expect(again.stdout).toContain(`Started: ${unlucky}.`);
      expect(await pageAt(ports[unlucky] ?? 0)).toBe(unlucky);
    });
  });
}

const webServer = (id: string, port: number) => `services:
  server:
    image: busybox:latest
    restart: unless-stopped
    command: ["sh", "-c", "mkdir -p /www; echo ${id} >/www/index.html; trap 'exit 0' TERM; httpd -f -p 80 -h /www & wait"]
    environment:
      TOKEN: "\${TOKEN:?kept by Quarterdeck, use quarterdeck compose}"
${id === 'back-asker' ? `      RUNTIME_URL: "\${RUNTIME_URL:-http://back-runtime:80}"\n` : ''}    ports:
      - "\${WEB_BIND:-127.0.0.1}:\${WEB_PORT:-${port}}:80/tcp"
`;

const asked = (id: string) => `ports: {web: {role: page, exposure: loopback, web: true}}
${id === 'back-runtime' ? 'provides: {api: {port: web, scheme: http}}\n' : ''}${id === 'back-asker' ? 'uses: [{component: back-runtime, what: api, field: RUNTIME_URL}]\n' : ''}fields:
  - {name: token, type: secret-string, secret: true, required: true, target: environment, env: TOKEN, generator: "alphanumeric:32"}
${id === 'back-asker' ? '  - {name: RUNTIME_URL, type: url, target: environment}\n' : ''}calls: {front: {title: Does it answer?, reads: true, http: {method: GET, port: web, path: /}}}
probe: {call: front, states: [{when: ok, state: healthy, severity: ok}, {when: 'true', state: starting, severity: busy}]}
`;
