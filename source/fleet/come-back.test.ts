import { expect, test } from 'vitest';
import { componentView, serviceView } from '../../test/doubles/fleet-double.ts';
import { notBack, providersFirst } from './come-back.ts';

test('a gateway comes before who is in its network, whatever their names (R15)', () => {
  const gateways = (id: string) => (id === 'client' ? ['vpn'] : []);
  const ids = providersFirst([{ id: 'client' }, { id: 'vpn' }, { id: 'a' }], () => undefined, gateways).map(({ id }) => id);
  expect(ids).toEqual(['a', 'vpn', 'client']);
});

test('what runs in a network that is gone did not come back; what waits for its gateway is not counted', () => {
  const one = (id: string, stale: boolean) =>
    componentView(id, { deployed: true, services: [serviceView(id, { state: 'running', cutOff: { why: 'it is gone', stale } })] });
  expect(notBack([one('client', true), one('other', false)]).map(({ id }) => id)).toEqual(['client']);
});
