import { expect, test } from 'vitest';
import { componentView, serviceView } from '../../test/doubles/fleet-double.ts';
import { auditSubject } from './audit-log.ts';

const vault = (project: string) =>
  componentView('vault', {
    project,
    key: `local/${project}/vault`,
    services: [
      serviceView('server', { containerName: `${project}-server-1` }),
      serviceView('agent', { containerName: `${project}-agent-1` }),
    ],
  });
const both = [vault('bao-a'), vault('bao-b')];

test('two projects with the same component are told apart', () => {
  const [, second] = both;
  expect(auditSubject(both, { component: second }, { host: 'local', component: 'vault' })).toEqual({
    project: 'bao-b',
    containers: ['bao-b-server-1', 'bao-b-agent-1'],
  });
  expect(auditSubject(both, {}, { host: 'local', component: 'local/bao-a/vault' })).toMatchObject({ project: 'bao-a' });
});

test('a service that is meant is named with its container alone', () => {
  expect(auditSubject(both, { component: both[0], service: 'agent' }, { host: 'local', component: 'vault' })).toEqual({
    project: 'bao-a',
    service: 'agent',
    containers: ['bao-a-agent-1'],
  });
});

test('what an act about another component or host changes is not put down to the one of the run', () => {
  const other = componentView('proxy', { project: 'web', key: 'local/web/proxy' });
  expect(auditSubject([...both, other], { component: both[0] }, { host: 'local', component: 'proxy' })).toMatchObject({ project: 'web' });
  expect(auditSubject(both, { component: both[0] }, { host: 'nas', component: 'vault' })).toEqual({});
  expect(auditSubject(both, {}, { host: 'local', component: 'vault' })).toEqual({});
});
