import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Answer, empty, json, type Recording, serve } from '../../test/engine/recorded-engine.ts';
import { docker20, jobId, webId } from '../../test/engine/recordings.ts';

// Each test starts the program.
vi.setConfig({ testTimeout: 90_000 });

const never: Answer = () => {};
const quiet: Answer = (_, response) => response.writeHead(200).flushHeaders();
const container = {
  Id: webId,
  Name: '/web',
  State: { Status: 'running', StartedAt: '2026-11-20T10:00:00Z' },
  Config: { Image: 'local/busybox:1' },
};
const whole = {
  'GET /events': quiet,
  [`GET /containers/${jobId}/json`]: { ...container, Id: jobId, Name: '/fails', State: { Status: 'exited', ExitCode: 7 } },
  [`GET /containers/${webId}/json`]: container,
  'GET /networks': [],
  'GET /volumes': { Volumes: [] },
};

/**
 * Runs a command against an engine that does not respond one of its requests, and sends SIGTERM as soon as that request was made. With
 * `after`, only requests after that one count.
 */
async function interruptedIn(
  request: string,
  argv: readonly string[],
  { after, answers = {} }: { after?: string; answers?: Recording['answers'] } = {},
) {
  const engine = await serve(docker20({ ...whole, [request]: never, ...answers }));
  const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-interrupted-'));
  onTestFinished(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const child = spawn(process.execPath, ['--import', 'tsx', 'source/main.ts', ...argv], {
    env: {
      ...process.env,
      DOCKER_HOST: engine.address.url,
      QUARTERDECK_HOME: folder,
      QUARTERDECK_KEYCHAIN: 'off',
      FORCE_COLOR: '0',
      NODE_OPTIONS: '',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = Promise.all([text(child.stderr), new Promise((resolve) => child.on('exit', resolve))]);
  const reached = vi.waitFor(
    () => {
      const made = engine.requests.map(({ method, path }) => `${method} ${path}`);
      expect(made.slice(after === undefined ? 0 : made.indexOf(after) + 1 || made.length)).toContain(request);
    },
    { timeout: 60_000 },
  );
  await Promise.race([reached, ended]);
  child.kill('SIGTERM');
  const [stderr, exitCode] = await ended;
  return { said: stderr.replaceAll(/\s+/g, ' ').trim(), exitCode };
}

test.for([
  ['GET /containers/json', ['status']],
  ['GET /containers/json', ['ports']],
  ['GET /system/df', ['df']],
] as const)('an interrupted read does not warn about changes: %s, %s', async ([request, argv]) => {
  const { said, exitCode } = await interruptedIn(request, argv);
  expect(exitCode).toBe(130);
  expect(said).toBe('quarterdeck: Interrupted. Run the command again.');
});

test('a change that was interrupted before it began says nothing of one', async () => {
  const { said, exitCode } = await interruptedIn('GET /containers/json', ['stop', 'web']);
  expect(exitCode).toBe(130);
  expect(said).toBe('quarterdeck: Interrupted. Run the command again.');
});

test('a change that was interrupted in the middle may have happened', async () => {
  const { said, exitCode } = await interruptedIn(`POST /containers/${webId}/stop`, ['stop', 'web']);
  expect(exitCode).toBe(130);
  expect(said).toContain('Interrupted during: POST /containers/web/stop');
  expect(said).toContain('check the status before you try again');
});

test('so may one that was interrupted while its effect was awaited', async () => {
  let hangs = false;
  const after = `POST /containers/${webId}/restart`;
  const { said, exitCode } = await interruptedIn(`GET /containers/${webId}/json`, ['restart', 'web'], {
    after,
    answers: {
      [after]: (request, response, raw) => {
        hangs = true;
        empty(204)(request, response, raw);
      },
      [`GET /containers/${webId}/json`]: (request, response, raw) => {
        if (!hangs) json(200, container)(request, response, raw);
      },
    },
  });
  expect(exitCode).toBe(130);
  expect(said).toBe('quarterdeck: Interrupted. Check the status: the action may have completed.');
});
