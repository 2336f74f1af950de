import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { requiredInCi } from '../required.ts';

/** Servers that `test/real/servers` builds, but for those that it cannot have: these are named. */
export type ServerName =
  | 'crowdsec-1.7.8'
  | 'kube-apiserver'
  | 'headscale'
  | 'openbao'
  | 'authelia'
  | 'keycloak'
  | 'adguardhome'
  | 'minio'
  | 'step-ca'
  | 'tailscale'
  | 'newt'
  | 'n8n'
  | 'cloudflared'
  | 'traefik'
  | 'calibre-web';

const variables: Record<ServerName, string> = {
  'crowdsec-1.7.8': 'QUARTERDECK_TEST_CROWDSEC_TREE',
  'kube-apiserver': 'QUARTERDECK_TEST_KUBE_APISERVER',
  headscale: 'QUARTERDECK_TEST_HEADSCALE',
  openbao: 'QUARTERDECK_TEST_OPENBAO',
  authelia: 'QUARTERDECK_TEST_AUTHELIA',
  keycloak: 'QUARTERDECK_TEST_KEYCLOAK',
  adguardhome: 'QUARTERDECK_TEST_ADGUARDHOME',
  minio: 'QUARTERDECK_TEST_MINIO',
  'step-ca': 'QUARTERDECK_TEST_STEP_CA',
  tailscale: 'QUARTERDECK_TEST_TAILSCALE',
  newt: 'QUARTERDECK_TEST_NEWT',
  n8n: 'QUARTERDECK_TEST_N8N',
  cloudflared: 'QUARTERDECK_TEST_CLOUDFLARED',
  traefik: 'QUARTERDECK_TEST_TRAEFIK',
  'calibre-web': 'QUARTERDECK_TEST_CALIBRE_WEB',
};

/** In no package registry as something to build. */
const unbuilt: ReadonlySet<ServerName> = new Set(['cloudflared']);
/** Those that .ci/run builds. */
const inCi: ReadonlySet<ServerName> = new Set(['traefik', 'calibre-web']);

/**
 * Returns where a server's program is, or why it is missing.
 * @throws under QUARTERDECK_REQUIRE_REAL=1, where CI builds it or a variable names it
 */
export function findServer(name: ServerName): { program: string; missing?: undefined } | { missing: string; program?: undefined } {
  const variable = variables[name];
  const named = process.env[variable];
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'quarterdeck-test-servers', name);
  const program = named || cache;
  if (existsSync(program)) return { program };
  const missing = named
    ? `${variable} names ${named}, which does not exist`
    : `no ${name}: ${unbuilt.has(name) ? `name one in ${variable}` : `\`test/real/servers ${name}\` builds it`}`;
  if (named || inCi.has(name)) requiredInCi(missing);
  return { missing };
}

/** A port on loopback that nobody has at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface RunningServer {
  output(): string;
  stop(): Promise<void>;
}

/** Starts a server and waits until a URL of it answers, whatever the status. @throws with its output when it ends before */
export async function runServer(
  program: string,
  args: string[],
  options: { cwd: string; answers: string; limitMs?: number; env?: NodeJS.ProcessEnv },
): Promise<RunningServer> {
  const pieces: Buffer[] = [];
  const child: ChildProcess = spawn(program, args, {
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.env && { env: options.env }),
  });
  child.stdout?.on('data', (piece: Buffer) => pieces.push(piece));
  child.stderr?.on('data', (piece: Buffer) => pieces.push(piece));
  const output = () => Buffer.concat(pieces).toString();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const deadline = Date.now() + (options.limitMs ?? 30_000);
  while (true) {
    if (child.exitCode !== null) throw new Error(`${program} ended:\n${output()}`);
    const response = await fetch(options.answers).catch(() => undefined);
    if (response) break;
    if (Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${program} does not answer:\n${output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    output,
    async stop() {
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(killer);
    },
  };
}
