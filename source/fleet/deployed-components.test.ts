import { expect, test } from 'vitest';
import { hostDouble } from '../../test/doubles/live-engine.ts';
import { DeployedComponents } from './deployed-components.ts';
import type { EngineWatch } from './engine-watch.ts';

test('a named pipe among the records of what is stopped for a while does not hide the others', async () => {
  const folder = '/home/op/stack/.quarterdeck/halted';
  const record = JSON.stringify({ flow: 'backup', by: 'ada@nas', containers: [{ id: 'app', name: 'app', how: 'stopped' }] });
  const host = hostDouble({ files: { [`${folder}/a.json`]: '', [`${folder}/b.json`]: record } });
  const { facts, read } = host.files;
  host.files.facts = async (path, signal) => {
    const found = await facts(path, signal);
    return found && path.endsWith('/a.json') ? { ...found, kind: 'other' } : found;
  };
  host.files.read = async (path, options) => {
    if (path.endsWith('/a.json')) throw new Error('it is not a regular file');
    return read(path, options);
  };
  const watch = { host, stackFolder: undefined } as EngineWatch;
  const deployed = new DeployedComponents([watch], '~/stack', () => undefined);
  await deployed.read();
  deployed.close();
  expect(deployed.haltedFor(watch, 'app')).toEqual({ flow: 'backup', by: 'ada@nas' });
});
