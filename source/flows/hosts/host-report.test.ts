import { expect, test } from 'vitest';
import { Fault } from '../../faults/fault.ts';
import { systemError } from '../../hosts/unreachable.ts';
import { engineText } from './host-report.ts';

test.each([
  ['EACCES', 'unix:///run/docker.sock: permission denied for this user'],
  ['ECONNREFUSED', 'unix:///run/docker.sock does not respond'],
])('an engine whose socket fails with %s is not reported with another cause', (code, says) => {
  const socket = new Fault('unreachable.socket', 'It cannot be reached.', 'Start it.', { cause: systemError(code) });
  const fault = new Fault('unreachable.engine', 'It cannot be reached.', 'Start it.', { cause: socket });
  expect(engineText({ engineName: 'nas', url: 'unix:///run/docker.sock', fault })).toBe(says);
});
