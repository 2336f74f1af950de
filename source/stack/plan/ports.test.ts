import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inventory } from '../../../test/catalog/inventory.ts';
import type { Deployment, PlannedPort } from '../model.ts';
import { carriedInto, freePort, overlaps, type PortUse, portConflicts, usesOfListeners } from './ports.ts';

/** Rows of the specification's list of conflicts: `| 53/tcp | \`a\` (all; DNS)<br>… | resolution |`. */
const rows = readFileSync('test/spec/port-conflicts.md', 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, port, protocol, users = '', resolution = ''] = /^\| (\d+)\/(tcp|udp) \| (.*?) \| (.*?) \|$/.exec(line) ?? [];
    if (port === undefined || users.startsWith('`') === false || !users.includes('<br>')) return [];
    const found = users.split('<br>').map((user) => {
      const [, id = '', exposure = ''] = /^`([a-z0-9-]+)` \((loopback|all|host-network)/.exec(user) ?? [];
      return { id, exposure };
    });
    const moves = new Map(
      [...resolution.matchAll(/`([a-z0-9-]+)` -> (?:127\.0\.0\.1:)?(\d+)/g)].map((match) => [match[1] ?? '', Number(match[2])]),
    );
    return [{ port: Number(port), protocol: protocol as 'tcp' | 'udp', users: found, moves }];
  });

const use = (id: string, exposure: string, port: number, protocol: 'tcp' | 'udp'): PortUse => ({
  owner: id,
  address: exposure === 'loopback' ? '127.0.0.1' : '0.0.0.0',
  port,
  protocol,
  ...(exposure === 'host-network' && { hostNetwork: true }),
});

const planned = (
  id: string,
  exposure: string,
  port: number,
  protocol: 'tcp' | 'udp',
  fixed: boolean,
): PlannedPort & { hostNetwork?: boolean } => ({
  service: id,
  name: id,
  address: exposure === 'loopback' ? '127.0.0.1' : '0.0.0.0',
  host: port,
  container: port,
  protocol,
  fixed,
  ...(exposure === 'host-network' && { hostNetwork: true }),
});

const everything = inventory.flatMap(({ id, ports }) =>
  (ports ?? []).map(({ host, protocol, exposure }) => use(id, exposure, host, protocol as 'tcp' | 'udp')),
);

describe('the conflict sets of the specification', () => {
  it('are all there', () => {
    expect(rows).toHaveLength(23);
  });

  it.each(rows.map((row) => [`${row.port}/${row.protocol}`, row] as const))(
    '%s: each one after the first is refused or moved as the list says (R88)',
    (_, { port, protocol, users, moves }) => {
      const [first, ...others] = users;
      const before = rows.slice(
        0,
        rows.findIndex((row) => row.port === port && row.protocol === protocol),
      );
      const moved = before.flatMap((row) => [...row.moves].map(([id, to]) => use(id, 'loopback', to, row.protocol)));
      const taken: PortUse[] = [use(first?.id ?? '', first?.exposure ?? '', port, protocol)];
      for (const { id, exposure } of others) {
        const to = moves.get(id);
        const [conflict] = portConflicts([planned(id, exposure, port, protocol, to === undefined)], taken, [...everything, ...moved]);
        expect(conflict?.users.map(({ owner }) => owner)).toContain(first?.id);
        expect(conflict?.proposal).toBe(to);
        if (to === undefined) expect(conflict?.advice).toContain('cannot be changed');
        taken.push(use(id, exposure, to ?? port, protocol));
      }
    },
  );
});

describe('overlaps', () => {
  const at = (address: string, more: Partial<PortUse> = {}): PortUse => ({ owner: 'x', address, port: 80, protocol: 'tcp', ...more });

  it('knows that all addresses hold every one, and that protocols are apart (R88)', () => {
    expect(overlaps(at('0.0.0.0'), at('127.0.0.1'))).toBe(true);
    expect(overlaps(at('127.0.0.1'), at('127.0.0.1'))).toBe(true);
    expect(overlaps(at('::'), at('192.168.1.2'))).toBe(true);
    expect(overlaps(at('192.168.1.2'), at('127.0.0.1'))).toBe(false);
    expect(overlaps(at('192.168.1.2', { hostNetwork: true }), at('127.0.0.1'))).toBe(true);
    expect(overlaps(at('0.0.0.0'), at('0.0.0.0', { protocol: 'udp' }))).toBe(false);
    expect(overlaps(at('0.0.0.0'), at('0.0.0.0', { port: 81 }))).toBe(false);
  });
});

describe('freePort', () => {
  it('never proposes one that is taken, or out of the range (R88)', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 65_535 }),
        fc.uniqueArray(fc.integer({ min: 10_000, max: 32_767 }), { maxLength: 60 }),
        (port, list) => {
          const taken = new Set([...list, port + 10_000]);
          const found = freePort(port, (candidate) => taken.has(candidate));
          if (found === undefined) return;
          expect(taken.has(found)).toBe(false);
          expect(found).toBeGreaterThanOrEqual(10_000);
          expect(found).toBeLessThanOrEqual(32_767);
        },
      ),
    );
  });

  it('gives two ports of one component different ones', () => {
    const conflicts = portConflicts(
      [planned('a', 'loopback', 8080, 'tcp', false), planned('b', 'loopback', 8080, 'tcp', false)],
      [use('x', 'all', 8080, 'tcp')],
    );
    expect(conflicts.map(({ proposal }) => proposal)).toEqual([18080, 28080]);
  });

  it('proposes one that is free on the address that it will be published on (R88)', () => {
    const taken: PortUse[] = [
      use('x', 'all', 8080, 'tcp'),
      { owner: 'y', address: '192.168.1.2', port: 18_080, protocol: 'tcp' },
      { owner: 'z', address: '127.0.0.1', port: 28_080, protocol: 'tcp' },
    ];
    const proposed = (port: PlannedPort) => portConflicts([port], taken)[0]?.proposal;
    expect(proposed(planned('a', 'all', 8080, 'tcp', false))).toBe(11_080);
    expect(proposed(planned('a', 'loopback', 8080, 'tcp', false))).toBe(18_080);
    expect(proposed({ ...planned('a', 'all', 8080, 'tcp', false), address: '192.168.1.2' })).toBe(28_080);
  });
});

describe('usesOfListeners', () => {
  it('does not take what the component itself listens on for somebody else', () => {
    const listeners = [
      { address: '127.0.0.1', port: 8180, protocol: 'tcp' as const, process: { pid: 1, name: 'docker-proxy' } },
      { address: '::', port: 8080, protocol: 'tcp' as const },
    ];
    expect(usesOfListeners(listeners, [{ address: '127.0.0.1', port: 8180, protocol: 'tcp' }])).toEqual([
      { owner: 'another program', address: '::', port: 8080, protocol: 'tcp' },
    ]);
  });
});

describe('carriedInto', () => {
  it('finds the fields of others that name the port that moves (R89)', () => {
    const env = {
      A: 'http://localhost:8090/x',
      B: 'http://127.0.0.1:80900',
      C: 'http://host.containers.internal:8090',
      D: 'http://reader:8090',
      E: 'http://mylocalhost:8090',
    };
    const other: Deployment = { component: 'app', folder: '/s/app', compose: '', envText: '', env, files: {}, record: undefined };
    expect(carriedInto(8090, 18_090, [other])).toEqual([
      { component: 'app', variable: 'A', before: env.A, value: 'http://localhost:18090/x' },
      { component: 'app', variable: 'C', before: env.C, value: 'http://host.containers.internal:18090' },
    ]);
  });
});
