import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { writeOwnFile } from '../config/own-files.ts';
import { ownPaths } from '../config/paths.ts';
import type { Engine, EngineAddress } from '../engine/engine.ts';
import type { SshHost } from '../hosts/ssh/ssh-host.ts';
import type { HostQuestions } from './host-questions.ts';
import { knownEnginesFile } from './known-engines.ts';
import { openRemoteEngines } from './remote-engines.ts';

const signal = new AbortController().signal;
const before = 'unix:///var/run/docker.sock';

/** A host whose engine was at `before` last time, and that says later where it is now. */
async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-remote-engines-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const paths = ownPaths({ QUARTERDECK_HOME: folder }, folder);
  await writeOwnFile(knownEnginesFile(paths, 'nas'), JSON.stringify([before]));
  const facts = Promise.withResolvers<{ env: { DOCKER_HOST: string }; home: string }>();
  const host = {
    name: 'nas',
    link: { ready: async () => {} },
    openSockets: async () => {},
    facts: () => facts.promise,
    files: { facts: async () => undefined },
  };
  const opened: EngineAddress[] = [];
  const close = vi.fn();
  const openAt = async (address: EngineAddress) => {
    opened.push(address);
    return { address, close } as unknown as Engine;
  };
  const options = { paths, env: {}, questions: {} as HostQuestions, openAt };
  const [source] = await openRemoteEngines(host as unknown as SshHost, { ssh: 'nas' }, options);
  if (!source) throw new Error('no engine is listed');
  return { source, opened, close, isNowAt: (url: string) => facts.resolve({ env: { DOCKER_HOST: url }, home: '/root' }) };
}

test('the engine is asked where it was last time, while it is looked for', async () => {
  const { source, opened, close, isNowAt } = await open();
  await source.open(signal);
  expect(opened).toEqual([{ url: before, origin: 'where it was last time' }]);
  isNowAt(before);
  await vi.waitFor(() => expect(opened[0]?.origin).toBe('DOCKER_HOST'));
  expect(close).not.toHaveBeenCalled();
});

test('one that is elsewhere now is left as soon as that is known, and asked there', async () => {
  const { source, opened, close, isNowAt } = await open();
  await source.open(signal);
  isNowAt('unix:///run/podman/podman.sock');
  await vi.waitFor(() => expect(close).toHaveBeenCalledOnce());
  await source.open(signal);
  expect(opened.at(-1)).toEqual({ url: 'unix:///run/podman/podman.sock', origin: 'DOCKER_HOST' });
});
