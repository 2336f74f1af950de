import { afterEach, beforeEach, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { Fault } from '../../faults/fault.ts';
import type { HostLinkView } from '../../hosts/host.ts';
import type { HostBook, RemoteHost } from './host-book.ts';

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

const fault = new Fault('config.dockerHost', 'The address in DOCKER_HOST is "/x".', 'Correct it.');

test.each<[HostLinkView['state'], string]>([
  ['connected', 'The remote host is connected.'],
  ['away', '0 of 1 remote hosts are connected.'],
])('if the search for engines fails, a host that is %s is listed as such, with the reason', async (state, message) => {
  const link = {
    view: { state: 'connected' as HostLinkView['state'], sinceMs: 0, roundTripMs: 3 },
    ready: async () => {},
    subscribe: () => () => {},
  };
  fixture.hosts = {
    list: async () => ({ nas: { ssh: 'op@nas' } }),
    open: async () => ({ link }) as unknown as RemoteHost,
    engines: async () => {
      link.view.state = state;
      throw fault;
    },
  } as unknown as HostBook;
  const { data, ...outcome } = await fixture.run(flowOf('hosts-list'), undefined);
  expect(outcome.message).toBe(message);
  const { hosts } = data as { hosts: object[] };
  expect(hosts.at(-1)).toMatchObject({ name: 'nas', state, engines: [], fault: { code: 'config.dockerHost' } });
  expect(fixture.operator.texts()).toContain('nas: The address in DOCKER_HOST is "/x". Correct it.');
});
