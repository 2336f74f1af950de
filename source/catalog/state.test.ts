import { expect, test } from 'vitest';
import { stateId } from './state.ts';

test.each([
  ['healthy', 'healthy'],
  ['signups open', 'signups-open'],
  ['up, login needed', 'up-login-needed'],
  ['sealed {string(json.progress)}/{string(json.t)}', 'sealed'],
  ['port 80 closed', 'port-closed'],
  ['API away', 'api-away'],
  ['{json.state}', ''],
])('the id of "%s" is "%s"', (label, id) => expect(stateId(label)).toBe(id));
