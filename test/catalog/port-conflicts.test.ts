import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { PlannedPort } from '../../source/stack/model.ts';
import { overlaps, type PortUse, portConflicts, usesOfComponent } from '../../source/stack/plan/ports.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

// Every row of the specification's list of conflicts, against the ports that the catalog really has.

const { entries } = await wholeCatalog();
const text = await readFile(new URL('../spec/port-conflicts.md', import.meta.url), 'utf8');

interface Row {
  port: number;
  protocol: 'tcp' | 'udp';
  components: readonly string[];
  resolution: string;
}

const rows = text
  .split('## Not a clash')[0]
  ?.split('\n')
  .flatMap((line): Row[] => {
    const [, engineName, users, resolution] = /^\| (\d+\/(?:tcp|udp)) \| (.+?) \| (.+?) \|$/.exec(line) ?? [];
    if (engineName === undefined || users === undefined || resolution === undefined) return [];
    const [port, protocol] = engineName.split('/');
    const components = [...users.matchAll(/`([\w-]+)` \(/g)].map(([, id]) => id ?? '');
    return [{ port: Number(port), protocol: protocol as Row['protocol'], components, resolution }];
  });

const uses = entries.flatMap((entry) => usesOfComponent(entry, {}));
const known = new Set(entries.map(({ id }) => id));

function usersOf({ port, protocol }: Pick<Row, 'port' | 'protocol'>): PortUse[] {
  return uses.filter((use) => use.port === port && use.protocol === protocol);
}

/** The port of this component as a plan would open it. */
function planned(id: string, { port, protocol }: Pick<Row, 'port' | 'protocol'>): PlannedPort & { hostNetwork?: boolean } {
  const entry = entries.find((candidate) => candidate.id === id);
  const found = entry?.ports.find((one) => one.host === port && one.protocol === protocol);
  const use = uses.find((one) => one.component === id && one.port === port && one.protocol === protocol);
  if (!found || !use) throw new Error(`${id} has no ${port}/${protocol}`);
  return {
    name: found.name,
    service: found.service,
    address: use.address,
    host: port,
    container: found.container,
    protocol,
    fixed: found.fixed,
    ...(use.hostNetwork && { hostNetwork: true }),
  };
}

describe('ports that several components have', () => {
  it('the list is read', () => {
    expect(rows).toHaveLength(23);
  });

  it.each((rows ?? []).map((row) => [`${row.port}/${row.protocol}`, row] as const))(
    '%s: each of them is in the way of each other one (R88)',
    (_, row) => {
      const users = usersOf(row);
      // What is not deployed from here has its port on another machine, or inside a cluster.
      const listed = row.components.filter(
        (id) => entries.some((entry) => entry.id === id && entry.deploy === 'compose') || !known.has(id),
      );
      expect([...new Set(users.map(({ component }) => component))].sort()).toEqual(expect.arrayContaining([...listed].sort()));
      for (const one of users) for (const other of users) expect(overlaps(one, other), `${one.owner} and ${other.owner}`).toBe(true);
    },
  );

  it('there are no others (R88)', () => {
    const listed = new Set((rows ?? []).map(({ port, protocol }) => `${port}/${protocol}`));
    const shared = uses.filter((use) => uses.some((other) => other.component !== use.component && overlaps(use, other)));
    expect([...new Set(shared.map(({ port, protocol }) => `${port}/${protocol}`))].filter((engineName) => !listed.has(engineName))).toEqual(
      [],
    );
  });

  const moving = (rows ?? []).flatMap((row) => {
    const keeper = /`([\w-]+)` keeps/.exec(row.resolution)?.[1];
    const moves = [...row.resolution.matchAll(/`([\w-]+)` -> (?:127\.0\.0\.1:)?(\d+)/g)].map(([, id, to]) => ({
      id: id ?? '',
      to: Number(to),
    }));
    return moves.length === 0
      ? []
      : [[`${row.port}/${row.protocol}`, row, keeper ?? row.components.find((id) => id !== moves[0]?.id), moves] as const];
  });

  it('the first keeps it, the others move to the ports that the list proposes, all of them together (R88, R89)', () => {
    const taken: PortUse[] = [];
    const seen: Record<string, number | undefined> = {};
    const wanted: Record<string, number> = {};
    for (const [, row, keeper, moves] of moving) {
      taken.push(...usersOf(row).filter(({ component }) => component === keeper));
      for (const { id, to } of moves) {
        if (entries.find((entry) => entry.id === id)?.deploy !== 'compose') continue;
        const [conflict] = portConflicts([planned(id, row)], taken, uses);
        seen[`${id} ${row.port}`] = conflict?.proposal;
        wanted[`${id} ${row.port}`] = to;
        taken.push({ owner: id, component: id, address: '127.0.0.1', port: to, protocol: row.protocol });
      }
    }
    expect(Object.keys(wanted).length).toBeGreaterThan(20);
    expect(seen).toEqual(wanted);
  });

  const fixed = (rows ?? []).filter(({ resolution }) => resolution.includes('protocol-fixed'));
  it.each(fixed.map((row) => [`${row.port}/${row.protocol}`, row] as const))(
    '%s cannot move: it is refused, with what can be done (R88)',
    (_, row) => {
      const [first, ...others] = row.components;
      for (const id of others) {
        const [conflict] = portConflicts(
          [planned(id, row)],
          usersOf(row).filter(({ component }) => component === first),
          uses,
        );
        expect(conflict?.proposal).toBeUndefined();
        expect(conflict?.advice).toMatch(/serves the same purpose\. Use only one of these components, or bind one to a separate address/);
      }
    },
  );
});
