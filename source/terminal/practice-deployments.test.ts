import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeStage } from '../../test/doubles/practice-stage.ts';
import type { Fault } from '../faults/fault.ts';

// Components take their time to start, in practice too.
vi.setConfig({ testTimeout: 60_000 });
let stage: PracticeStage;
beforeAll(async () => {
  stage = await PracticeStage.open();
});
afterAll(() => stage?.close());

describe('what a practice stack has', () => {
  test('is deployed: nothing of it would change', async () => {
    // Deployments are laid when the stack is first asked for.
    await stage.run('deploy', 'rss-reader', {}, { rehearse: true });
    const records = stage.deck.catalog.entries.map(({ id }) =>
      stage.record(id).then(
        () => [{ id }],
        () => [],
      ),
    );
    const deployed = (await Promise.all(records)).flat();
    expect(deployed.length).toBeGreaterThan(12);
    const said: Record<string, unknown> = {};
    for (const { id } of deployed) {
      const outcome = await stage
        .run('deploy', id, {}, { rehearse: true })
        .catch((thrown: Error) => ({ message: thrown.message, data: stage.operator.reviews }));
      if (!/nothing to change/.test(outcome.message)) said[id] = [outcome.message, JSON.stringify(outcome.data)];
    }
    expect(said).toEqual({});
  });

  test('was made from its compose files: an up without a change makes nothing anew', async () => {
    for (const id of ['rss-reader', 'llm-proxy', 'mesh-control-server', 'reverse-proxy']) {
      const before = await stage.containers(id);
      expect(Object.keys(before).length, id).toBeGreaterThan(0);
      const outcome = await stage.run('compose', id, { words: ['up', '-d'] });
      expect(outcome.exitCode ?? 0, JSON.stringify(stage.operator.shown)).toBe(0);
      expect(await stage.containers(id), id).toEqual(before);
    }
  });

  test('has its secrets in the vault and none in its files', async () => {
    const { secrets } = await stage.record('rss-reader');
    expect(Object.keys(secrets).sort()).toEqual(['ADMIN_PASSWORD', 'DB_PASSWORD']);
    const engine = stage.deck.world.engineOf('practice');
    const { db = '' } = await stage.containers('rss-reader');
    const detail = await engine.inspect(db, AbortSignal.timeout(5_000));
    const password = Object.fromEntries(detail?.env ?? [])['POSTGRES_PASSWORD'] ?? '';
    expect(password.length).toBeGreaterThan(10);
    for (const path of ['rss-reader/compose.yaml', 'rss-reader/.env', '.quarterdeck/components/rss-reader.json'])
      expect(await stage.text(path)).not.toContain(password);
    const revealed = await stage.run('secrets-reveal', 'rss-reader', { words: ['rss-reader', 'DB_PASSWORD'] });
    expect(JSON.stringify([revealed, stage.operator.shown])).toContain(password);
  });

  test('one was made by somebody else: whose container holds its ports is said', async () => {
    const refused: unknown = await stage.run('deploy', 'dns-filter-second', {}, { rehearse: true }).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: 'refused.preflight' });
    const { message } = refused as Fault;
    expect(message).toContain('was not deployed from here: container adguardhome');
    expect(message).toContain('Port 53/udp (dns-udp) is taken by adguardhome.');
    expect(message).toContain('Port 3000/tcp (web) is taken by adguardhome.');
  });

  test('leaves one to deploy: it becomes what its probe says, and its duties stay (R47)', async () => {
    const outcome = await stage.run('deploy', 'recipe-manager');
    expect(outcome.message).toMatch(/recipe-manager/);
    expect(Object.keys(await stage.containers('recipe-manager')).sort()).toEqual(['db', 'mealie']);
    expect(outcome.todo?.items.map(({ id }) => id)).toEqual(['default-account', 'household']);
    expect(Object.keys((await stage.record('recipe-manager')).secrets)).toEqual(['DB_PASSWORD']);
    const seen = () => stage.deck.fleet.snapshot().components.find(({ id }) => id === 'recipe-manager')?.word;
    await expect.poll(seen, { timeout: 15_000 }).toBe('default account');
  });

  test('has newer images when its registry gets some', async () => {
    const before = await stage.run('update', 'all', { component: undefined }, { rehearse: true });
    expect(before.message).toMatch(/rss-reader.*: up to date\.$/);
    await stage.run('incident', 'calm', { words: ['newer-images'] });
    const after = await stage.run('update', 'all', { component: undefined }, { rehearse: true });
    const { plans } = after.data as { plans: { component: string; services: { name: string; change: string }[] }[] };
    expect(plans.map(({ component }) => component)).toEqual(['reverse-proxy', 'rss-reader']);
    expect(plans[1]?.services).toMatchObject([
      { name: 'reader', change: 'recreate' },
      { name: 'db', change: 'keep' },
    ]);
  });

  test('cannot do what the README says that it cannot', async () => {
    const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8');
    const said = /No certificate authority and no LDAP server\s+stand behind it: ([^.]+) cannot be practised\./.exec(readme)?.[1] ?? '';
    const verbs = [...said.matchAll(/`([^`]+)`/g)].map(([, verb]) => verb);
    const apis = ['step-ca', 'ldap'];
    const without = stage.deck.flows.filter(({ speaks }) => speaks !== undefined && apis.includes(speaks));
    expect(verbs.sort()).toEqual(without.map(({ verb }) => verb).sort());
    expect(stage.deck.fleet.snapshot().components.filter(({ speaks }) => speaks === 'step-ca')).toEqual([]);
    const operator = new OperatorDouble();
    operator.answers = { 'bind-password': ['whatever'] };
    await expect(stage.run('ldap-users', 'ldap-directory', {}, { operator })).rejects.toMatchObject({ name: 'Fault' });
    expect(operator.asked.map(({ id }) => id)).toEqual(['bind-password']);
  });
});
