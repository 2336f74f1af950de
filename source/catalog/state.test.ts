import { expect, test } from 'vitest';
import { countedName, stateId } from './state.ts';

test.each([
  ['healthy', 'healthy'],
  ['setup required', 'setup-required'],
  ['healthy, in sync', 'healthy-in-sync'],
  ['sealed {string(json.progress)}/{string(json.t)}', 'sealed'],
  ['port 80 closed', 'port-closed'],
  ['API off', 'api-off'],
  ['{json.state}', ''],
])('the id of "%s" is "%s"', (label, id) => expect(stateId(label)).toBe(id));

test.each([
  ['database-away', ['database down', 'database down'], 'database down'],
  ['port-closed', ['port 80 closed'], 'port closed'],
  ['sealed', ['sealed 0/3', 'sealed 1/3'], 'sealed'],
  ['degraded', ['db stopped', 'cache stopped'], 'degraded'],
])('states with the id "%s" and the labels %j are counted as "%s"', (id, labels, name) => {
  expect(countedName(labels.map((label) => ({ id, label, severity: 'error' })))).toBe(name);
});
