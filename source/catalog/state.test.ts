import { expect, test } from 'vitest';
import { stateId } from './state.ts';

test.each([
  ['healthy', 'healthy'],
  ['setup required', 'setup-required'],
  ['healthy, in sync', 'healthy-in-sync'],
  ['sealed {string(json.progress)}/{string(json.t)}', 'sealed'],
  ['port 80 closed', 'port-closed'],
  ['API off', 'api-off'],
  ['{json.state}', ''],
])('the id of "%s" is "%s"', (label, id) => expect(stateId(label)).toBe(id));
