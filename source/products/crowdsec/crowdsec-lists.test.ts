import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { CrowdsecFixture } from '../../../test/doubles/crowdsec-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { Fault } from '../../faults/fault.ts';
import type { Question } from '../../session/session.ts';

let fixture: CrowdsecFixture;
const open = async (...how: Parameters<typeof CrowdsecFixture.open>) => (fixture = await CrowdsecFixture.open(...how));
afterEach(() => fixture.close());

function answering(answers: Record<string, string | readonly string[]> = {}, kind: OperatorDouble['kind'] = 'terminal'): OperatorDouble {
  const one = new OperatorDouble(kind);
  one.ask = async (question: Question) => {
    one.asked.push(question);
    const given = answers[question.id] ?? (question as { initial?: string }).initial;
    if (given !== undefined) return given;
    const code = kind === 'unattended' ? 'usage.unanswered' : 'interrupted.cancelled';
    throw new Fault(code, 'No answer.', 'Answer.');
  };
  return one;
}
const nobody = () => answering({}, 'unattended');

/** Returns the keys of an object and of the objects in it; for a list, those of its first item. */
function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [keysOf(value[0])];
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, keysOf(member)]));
}

test('what --json tells is what docs/json.md shows', async () => {
  await open({ blocklist: 1 });
  await fixture.cscli('allowlists', 'create', 'own', '-d', 'own');
  await fixture.cscli('allowlists', 'add', 'own', '192.0.2.0/24');
  const parts = ['decisions', 'alerts', 'allowlists-list', 'bouncers-list', 'machines-list', 'collections-list'];
  const reported: object[] = [];
  for (const flow of parts)
    reported.push((await fixture.run(flow, [], { options: flow === 'decisions' ? { all: true } : {} })).data as object);
  await fixture.cscli('decisions', 'add', '--ip', '203.0.113.7');
  reported[1] = (await fixture.run('alerts')).data as object;
  const shown =
    /```json crowdsec\n([\s\S]*?)```/.exec(await readFile(new URL('../../../docs/json.md', import.meta.url), 'utf8'))?.[1] ?? '';
  const documented = JSON.parse(shown) as { alerts: { decisions: unknown[] }[]; decisions: unknown[] };
  for (const alert of documented.alerts) alert.decisions = documented.decisions;
  expect(keysOf(Object.assign({}, ...reported))).toEqual(keysOf(documented));
});

describe('allowlists', () => {
  test('are made, filled, looked up, emptied and deleted', async () => {
    await open();
    await fixture.run('allowlists-create', ['own'], { options: { description: 'own addresses' } });
    const added = await fixture.run('allowlists-add', ['own', '203.0.113.0/24', '2001:db8::/32'], {
      options: { comment: 'office', for: '7d' },
    });
    expect(added.message).toBe('203.0.113.0/24, 2001:db8::/32 are in the allowlist own.');
    expect(fixture.changes()).toEqual([
      'allowlists create own --description own addresses',
      'allowlists add own 203.0.113.0/24 2001:db8::/32 --comment office --expiration 168h',
    ]);
    expect((await fixture.run('allowlists-list')).data).toMatchObject({
      allowlists: [
        { name: 'own', managed: false, items: [{ value: '203.0.113.0/24', description: 'office', until: expect.any(String) }, {}] },
      ],
    });
    expect((await fixture.run('allowlists-check', ['203.0.113.7'])).data).toMatchObject({ allowlisted: true });
    expect((await fixture.run('allowlists-check', ['198.51.100.7'])).data).toEqual({ value: '198.51.100.7', allowlisted: false, by: null });
    await fixture.run('allowlists-remove', ['own'], { operator: answering({ values: ['203.0.113.0/24'] }) });
    expect((await fixture.run('allowlists-check', ['203.0.113.7'])).data).toMatchObject({ allowlisted: false });
    const again = await fixture.run('allowlists-remove', ['own', '203.0.113.0/24']);
    expect(again).toMatchObject({ message: 'own does not contain 203.0.113.0/24.', data: { values: [] } });
    const kept = await fixture.run('allowlists-create', ['own'], { options: { description: 'own addresses' } });
    expect(kept.message).toMatch(/^Kept the existing allowlist own\./);
    await fixture.run('allowlists-delete', ['own']);
    expect(fixture.operator.confirmations[0]?.consequences.join(' ')).toContain('2001:db8::/32');
    expect((await fixture.run('allowlists-list')).message).toMatch(/No allowlist/);
  });

  test('a second time nothing is sent: what is so already is not done again', async () => {
    await open();
    for (const _ of [1, 2]) {
      await fixture.run('allowlists-create', ['own'], { operator: nobody() });
      await fixture.run('allowlists-add', ['own', '203.0.113.7'], { operator: nobody() });
    }
    expect(fixture.changes()).toHaveLength(2);
  });

  test.each([
    ['allowlists-add', ['own', 'FR'], 'usage.target'],
    ['allowlists-add', ['own', 'nonsense'], 'usage.target'],
    ['allowlists-add', ['other', '203.0.113.7'], 'usage.allowlist'],
    ['allowlists-delete', ['other'], 'usage.allowlist'],
    ['allowlists-create', ['-x'], 'usage.name'],
  ])('%s %j', async (flow, words, code) => {
    await open();
    await fixture.cscli('allowlists', 'create', 'own', '-d', 'own');
    await expect(fixture.run(flow, words, { operator: nobody() })).rejects.toMatchObject({ code });
    expect(fixture.changes()).toEqual([]);
  });

  test('one that is kept on the web is not touched', async () => {
    await open();
    await fixture.cscli('allowlists', 'create', 'web', '-d', 'web');
    for (const list of fixture.played.store.allowlists) list.consoleManaged = true;
    await expect(fixture.run('allowlists-add', ['web', '203.0.113.7'])).rejects.toMatchObject({ code: 'refused.managed' });
  });

  test('before 1.6.6 there are none, and that is said with what there is instead', async () => {
    await open({ version: '1.4.6' });
    for (const flow of ['allowlists-list', 'allowlists-add', 'allowlists-create']) {
      await expect(
        fixture.run(flow, ['own', '203.0.113.7'].slice(0, flow.endsWith('create') ? 1 : 2), { operator: nobody() }),
      ).rejects.toMatchObject({
        code: 'refused.version',
        remedy: expect.stringMatching(/1\.6\.6.*whitelist/),
      });
    }
  });

  test('leaving says that nothing was done', async () => {
    await open();
    await fixture.cscli('allowlists', 'create', 'own', '-d', 'own');
    await expect(fixture.run('allowlists-add', ['own'], { operator: answering() })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: 'Nothing was added to an allowlist.',
    });
  });
});

describe.each(['1.7.8', '1.4.6'] as const)('bouncers and machines of %s', (version) => {
  test('a key is shown once, and is nowhere else', async () => {
    await open({ version });
    const { message } = await fixture.run('bouncers-add', ['proxy'], { operator: answering() });
    const shown = fixture.operator.shown.find((one) => one.kind === 'secret');
    const key = shown?.kind === 'secret' ? shown.value : '';
    expect(key).toMatch(/^\S{20,}$/);
    expect(message).toContain('proxy is registered');
    const reported = JSON.stringify([
      message,
      await fixture.audited(),
      fixture.operator.asked,
      fixture.engine.commands,
      (await fixture.run('bouncers-list')).data,
    ]);
    expect(reported).not.toContain(key);
    await expect(fixture.run('bouncers-add', ['proxy'])).rejects.toMatchObject({ code: 'usage.bouncer' });
    await fixture.run('bouncers-delete', ['proxy']);
    expect(fixture.operator.confirmations).toHaveLength(1);
    expect((await fixture.run('bouncers-list')).data).toMatchObject({ bouncers: [{ name: 'firewall' }] });
  });

  test('without anybody to see the key none is made, unless a pipe is to have it', async () => {
    await open({ version });
    await expect(fixture.run('bouncers-add', ['proxy'], { operator: nobody() })).rejects.toMatchObject({ code: 'refused.unattended' });
    expect(fixture.changes()).toEqual([]);
    await fixture.run('bouncers-add', ['proxy'], { options: { plain: true }, operator: nobody() });
    expect(fixture.operator.shown).toMatchObject([{ kind: 'secret', plain: true }]);
  });

  test('a machine that registered itself is let in, and deleted', async () => {
    await open({ version });
    fixture.played.store.addMachine('edge', 'secret-of-edge', false);
    const { data } = await fixture.run('machines-list');
    expect(data).toMatchObject({ machines: expect.arrayContaining([expect.objectContaining({ name: 'edge', validated: false })]) });
    expect((await fixture.run('machines-validate', [], { operator: answering({ name: 'edge' }) })).data).toEqual({ validated: 'edge' });
    expect((await fixture.run('machines-validate')).message).toBe('No machine is waiting for validation.');
    await fixture.run('machines-delete', ['edge']);
    expect((await fixture.run('machines-list')).data).not.toMatchObject({
      machines: expect.arrayContaining([expect.objectContaining({ name: 'edge' })]),
    });
    await expect(fixture.run('machines-delete', ['edge'])).rejects.toMatchObject({ code: 'usage.name' });
  });
});

describe.each(['1.7.8', '1.4.6'] as const)('the hub of %s', (version) => {
  test('a collection is installed and removed, and CrowdSec reloaded each time', async () => {
    await open({ version });
    const { message, data } = await fixture.run('collections-install', ['crowdsecurity/caddy'], { operator: nobody() });
    expect(message).toMatch(/^Installed crowdsecurity\/caddy\. CrowdSec was reloaded/);
    expect(data).toEqual({ name: 'crowdsecurity/caddy', reloaded: true });
    expect(fixture.engine.requests).toEqual(['restart crowdsec']);
    const list = (await fixture.run('collections-list')).data as { items: { name: string }[] };
    expect(list.items.map(({ name }) => name)).toContain('crowdsecurity/caddy');
    expect((await fixture.run('collections-install', ['crowdsecurity/caddy'], { operator: nobody() })).message).toBe(
      'crowdsecurity/caddy is already installed.',
    );
    await fixture.run('collections-remove', ['crowdsecurity/caddy'], { options: { later: true } });
    expect(fixture.engine.requests).toHaveLength(1);
    expect(fixture.operator.confirmations).toHaveLength(1);
  });

  test('the upgrade says what it does and what it leaves alone', async () => {
    await open({ version });
    const operator = answering({ reload: 'later' });
    const { message, data } = await fixture.run('hub-upgrade', [], { operator });
    expect(operator.texts().join('\n')).toMatch(/Skipped crowdsecurity\/whitelists/);
    expect(operator.texts().join('\n')).toMatch(/sshd-logs/);
    expect(message).toMatch(/^Upgraded .*sshd-logs.*takes effect when CrowdSec is next reloaded/);
    expect(data).toMatchObject({ reloaded: false, left: [] });
    expect(fixture.changes()).toEqual(['hub update', 'hub upgrade']);
    expect((await fixture.run('hub-upgrade', [], { operator: nobody() })).message).toBe(
      'All installed items that were not changed manually are up to date.',
    );
  });

  test('broken off at any act and run again, it comes to its end: nothing twice, and the reload is not forgotten', async () => {
    await open({ version });
    for (const at of ['hub update', 'hub upgrade', 'lapi status']) {
      fixture.engine.before = (argv) => {
        if (argv.slice(1).join(' ') === at) throw new Fault('unreachable.engine', 'The link broke.', 'Wait.');
      };
      if (at === 'lapi status') fixture.engine.refusals.set('restart', new Fault('unreachable.engine', 'The link broke.', 'Wait.'));
      await expect(fixture.run('hub-upgrade', [], { operator: nobody() })).rejects.toMatchObject({ code: 'unreachable.engine' });
    }
    fixture.engine.before = () => {};
    fixture.engine.refusals.clear();
    // The upgraded file is newer than the process that has to read it.
    fixture.engine.changedMs = 5_000_000;
    const { message, data } = await fixture.run('hub-upgrade', [], { operator: nobody() });
    expect(message).toBe('All installed items that were not changed manually are up to date. CrowdSec was reloaded.');
    expect(data).toMatchObject({ reloaded: true });
    // The count includes the attempt that failed.
    expect(fixture.changes().filter((words) => words === 'hub upgrade')).toHaveLength(2);
    expect(fixture.engine.requests.at(-1)).toBe('restart crowdsec');
  });

  test('not now: the index is new, nothing else', async () => {
    await open({ version });
    const { message } = await fixture.run('hub-upgrade', [], { operator: answering({ upgrade: 'no' }) });
    expect(message).toBe('Nothing was upgraded. The hub index was updated.');
    expect(fixture.changes()).toEqual(['hub update']);
    expect((await fixture.run('hub-update')).data).toMatchObject({
      behind: expect.arrayContaining([expect.objectContaining({ name: 'crowdsecurity/sshd' })]),
    });
  });

  test('a collection that there is not, and a name that is none', async () => {
    await open({ version });
    await expect(fixture.run('collections-install', ['crowdsecurity/nonsense'])).rejects.toMatchObject({ code: 'usage.collection' });
    await expect(fixture.run('collections-install', ['--force'])).rejects.toMatchObject({ code: 'usage.collection' });
    await expect(fixture.run('collections-list', [], { options: { kind: 'x' } })).rejects.toMatchObject({ code: 'usage.kind' });
  });

  test('metrics, as tables and as data', async () => {
    await open({ version });
    const { data } = await fixture.run('metrics');
    expect(fixture.operator.texts()[0]).toBeDefined();
    expect((data as { metrics: unknown }).metrics).not.toBeNull();
  });
});
