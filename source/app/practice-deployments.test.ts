import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';
import type { Fault } from '../faults/fault.ts';

// Components take time to start, in practice too.
vi.setConfig({ testTimeout: 60_000 });
let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture?.close());

describe('what a practice stack has', () => {
  test('is deployed: nothing of it would change', async () => {
    // Deployments are created when the stack is first used.
    await fixture.run('deploy', 'rss-reader', {}, { dryRun: true });
    const records = fixture.app.catalog.entries.map(({ id }) =>
      fixture.record(id).then(
        () => [{ id }],
        () => [],
      ),
    );
    const deployed = (await Promise.all(records)).flat();
    expect(deployed.length).toBeGreaterThan(12);
    const said: Record<string, unknown> = {};
    for (const { id } of deployed) {
      const outcome = await fixture
        .run('deploy', id, {}, { dryRun: true })
        .catch((thrown: Error) => ({ message: thrown.message, data: fixture.operator.reviews }));
      if (!/is up to date/.test(outcome.message)) said[id] = [outcome.message, JSON.stringify(outcome.data)];
    }
    expect(said).toEqual({});
  });

  test('was made from its compose files: an up without a change makes nothing anew', async () => {
    for (const id of ['rss-reader', 'llm-proxy', 'mesh-control-server', 'reverse-proxy']) {
      const before = await fixture.containers(id);
      expect(Object.keys(before).length, id).toBeGreaterThan(0);
      const outcome = await fixture.run('compose', id, { words: ['up', '-d'] });
      expect(outcome.exitCode ?? 0, JSON.stringify(fixture.operator.shown)).toBe(0);
      expect(await fixture.containers(id), id).toEqual(before);
    }
  });

  test('has its secrets in the vault and none in its files', async () => {
    const { secrets } = await fixture.record('rss-reader');
    expect(Object.keys(secrets).sort()).toEqual(['ADMIN_PASSWORD', 'DB_PASSWORD']);
    const engine = fixture.app.context.engineOf('practice');
    const { db = '' } = await fixture.containers('rss-reader');
    const detail = await engine.inspect(db, AbortSignal.timeout(5_000));
    const password = Object.fromEntries(detail?.env ?? [])['POSTGRES_PASSWORD'] ?? '';
    expect(password.length).toBeGreaterThan(10);
    for (const path of ['rss-reader/compose.yaml', 'rss-reader/.env', '.quarterdeck/components/rss-reader.json'])
      expect(await fixture.text(path)).not.toContain(password);
    const revealed = await fixture.run('secrets-reveal', 'rss-reader', { words: ['rss-reader', 'DB_PASSWORD'] });
    expect(JSON.stringify([revealed, fixture.operator.shown])).toContain(password);
  });

  test('one was made by somebody else: whose container holds its ports is said', async () => {
    const refused: unknown = await fixture.run('deploy', 'dns-filter-second', {}, { dryRun: true }).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: 'refused.preflight' });
    const { message } = refused as Fault;
    expect(message).toContain('was not deployed by Quarterdeck: container adguardhome');
    expect(message).toContain('Port 53/udp (dns-udp) is in use by adguardhome.');
    expect(message).toContain('Port 3000/tcp (web) is in use by adguardhome.');
  });

  test('leaves one to deploy: it becomes what its probe says, and its setup tasks stay (R47)', async () => {
    const outcome = await fixture.run('deploy', 'recipe-manager');
    expect(outcome.message).toMatch(/recipe-manager/);
    expect(Object.keys(await fixture.containers('recipe-manager')).sort()).toEqual(['db', 'mealie']);
    expect(outcome.todo?.items.map(({ id }) => id)).toEqual(['default-account', 'household']);
    expect(Object.keys((await fixture.record('recipe-manager')).secrets)).toEqual(['DB_PASSWORD']);
    const seen = () => fixture.app.fleet.snapshot().components.find(({ id }) => id === 'recipe-manager')?.state.label;
    await expect.poll(seen, { timeout: 15_000 }).toBe('default account');
  });

  test('has newer images when its registry gets some', async () => {
    const before = await fixture.run('update', 'all', { component: undefined }, { dryRun: true });
    expect(before.message).toMatch(/rss-reader.*: up to date\.$/);
    await fixture.run('incident', 'calm', { words: ['newer-images'] });
    const after = await fixture.run('update', 'all', { component: undefined }, { dryRun: true });
    const { plans } = after.data as { plans: { component: string; services: { name: string; change: string }[] }[] };
    expect(plans.map(({ component }) => component)).toEqual(['reverse-proxy', 'rss-reader']);
    expect(plans[1]?.services).toMatchObject([
      { name: 'reader', change: 'recreate' },
      { name: 'db', change: 'keep' },
    ]);
  });

  test('cannot do what docs/practice.md says that it cannot', async () => {
    const page = await readFile(join(import.meta.dirname, '../../docs/practice.md'), 'utf8');
    const said = /has no certificate authority and no LDAP server,\s+so ([^.]+)\s+cannot be used\./.exec(page)?.[1] ?? '';
    const verbs = [...said.matchAll(/`([^`]+)`/g)].map(([, verb]) => verb);
    const apis = ['step-ca', 'ldap'];
    const without = fixture.app.flows.filter(({ speaks }) => speaks !== undefined && apis.includes(speaks));
    expect(verbs.sort()).toEqual(without.map(({ verb }) => verb).sort());
    expect(fixture.app.fleet.snapshot().components.filter(({ speaks }) => speaks === 'step-ca')).toEqual([]);
    const operator = new OperatorDouble();
    operator.answers = { 'bind-password': ['whatever'] };
    await expect(fixture.run('ldap-users', 'ldap-directory', {}, { operator })).rejects.toMatchObject({ name: 'Fault' });
    expect(operator.asked.map(({ id }) => id)).toEqual(['bind-password']);
  });
});
