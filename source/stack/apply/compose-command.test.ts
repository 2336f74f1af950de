import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import { mintGrant } from '../../grants/mint.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { runComposeCommand } from './compose-command.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-compose-'));
  await mkdir(join(folder, 'vault'));
  // Records its environment and arguments.
  await writeFile(
    join(folder, 'docker-compose'),
    '#!/bin/sh\nprintf \'%s\\n\' "$*" "port=$WEB_PORT token=$ADMIN_TOKEN file=$COMPOSE_FILE project=$COMPOSE_PROJECT_NAME home=$HOME"\ncat\nexit 7\n',
  );
  await chmod(join(folder, 'docker-compose'), 0o755);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const compose = 'services:\n  main:\n    image: a\n    environment: {TOKEN: "${ADMIN_TOKEN:?x}"}\n    ports: ["${WEB_PORT:-80}:80"]\n';

async function ran(words: readonly string[]) {
  const tool: ComposeTool = { kind: 'docker-compose', generation: 2, version: '2', argv: [join(folder, 'docker-compose')], env: {} };
  const grant = mintGrant('compose', 'operate', AbortSignal.timeout(20_000));
  const program = await runComposeCommand(grant, openLocalHost(), {
    deployment: { component: 'vault', folder: join(folder, 'vault'), compose, env: { PLAIN: '', 'NOT A NAME; touch broken': '' } },
    tool,
    secrets: { ADMIN_TOKEN: "it's $secret" },
    words,
    stdin: 'what is piped in',
  });
  const chunks: Buffer[] = [];
  for await (const chunk of program.stdout as AsyncIterable<Buffer>) chunks.push(chunk);
  const { exitCode } = await program.ended;
  return { exitCode, lines: Buffer.concat(chunks).toString().split('\n') };
}

test("the operator's own environment never takes the place of the component's files, and input and exit code go through", async () => {
  vi.stubEnv('COMPOSE_FILE', '/somewhere/else.yaml');
  vi.stubEnv('COMPOSE_PROJECT_NAME', 'other');
  vi.stubEnv('WEB_PORT', '1');
  vi.stubEnv('PATH', `${process.env.PATH}${delimiter}${folder}`);
  await writeFile(join(folder, 'vault', 'compose.override.yaml'), '');
  expect(await ran(['exec', 'main', 'a b'])).toEqual({
    exitCode: 7,
    lines: [
      '-f compose.yaml -f compose.override.yaml -p vault exec main a b',
      `port= token=it's $secret file= project= home=${process.env.HOME}`,
      'what is piped in',
    ],
  });
  await expect(readFile(join(folder, 'vault', 'broken'))).rejects.toMatchObject({ code: 'ENOENT' });
});
