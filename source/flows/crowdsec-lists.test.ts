import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { CrowdsecStage } from '../../test/doubles/crowdsec-stage.ts';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Fault } from '../faults/fault.ts';
import type { Question } from '../session/session.ts';

let stage: CrowdsecStage;
const open = async (...how: Parameters<typeof CrowdsecStage.open>) => (stage = await CrowdsecStage.open(...how));
afterEach(() => stage.close());

function answering(answers: Record<string, string | readonly string[]> = {}, kind: OperatorDouble['kind'] = 'terminal'): OperatorDouble {
  const one = new OperatorDouble(kind);
  one.ask = async (question: Question) => {
    one.asked.push(question);
    const given = answers[question.id] ?? (question as { initial?: string }).initial;
    if (given !== undefined) return given;
    const code = kind === 'unattended' ? 'usage.unanswered' : 'interrupted.cancelled';
    throw new Fault({ code, message: 'No answer.', remedy: 'Answer.' });
  };
  return one;
}
const nobody = () => answering({}, 'unattended');

/** Keys, and those of what is in them; of a list those of its first. */
function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [keysOf(value[0])];
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, keysOf(member)]));
}

test('what --json tells is what docs/json.md shows', async () => {
  await open({ blocklist: 1 });
  await stage.cscli('allowlists', 'create', 'own', '-d', 'own');
  await stage.cscli('allowlists', 'add', 'own', '192.0.2.0/24');
  const parts = ['decisions', 'alerts', 'allowlists-list', 'bouncers-list', 'machines-list', 'collections-list'];
  const told: object[] = [];
  for (const flow of parts) told.push((await stage.run(flow, [], { options: flow === 'decisions' ? { all: true } : {} })).data as object);
  await stage.cscli('decisions', 'add', '--ip', '203.0.113.7');
  told[1] = (await stage.run('alerts')).data as object;
  const shown = /```json crowdsec\n([\s\S]*?)```/.exec(await readFile(new URL('../../docs/json.md', import.meta.url), 'utf8'))?.[1] ?? '';
  const documented = JSON.parse(shown) as { alerts: { decisions: unknown[] }[]; decisions: unknown[] };
  for (const alert of documented.alerts) alert.decisions = documented.decisions;
  expect(keysOf(Object.assign({}, ...told))).toEqual(keysOf(documented));
});

describe('allowlists', () => {
  test('are made, filled, looked up, emptied and deleted', async () => {
    await open();
    await stage.run('allowlists-create', ['own'], { options: { description: 'own addresses' } });
    const added = await stage.run('allowlists-add', ['own', '203.0.113.0/24', '2001:db8::/32'], {
      options: { comment: 'office', for: '7d' },
    });
    expect(added.message).toBe('203.0.113.0/24, 2001:db8::/32 are on own.');
    expect(stage.changes()).toEqual([
      'allowlists create own --description own addresses',
      'allowlists add own 203.0.113.0/24 2001:db8::/32 --comment office --expiration 168h',
    ]);
    expect((await stage.run('allowlists-list')).data).toMatchObject({
      allowlists: [
        { name: 'own', managed: false, items: [{ value: '203.0.113.0/24', description: 'office', until: expect.any(String) }, {}] },
      ],
    });
    expect((await stage.run('allowlists-check', ['203.0.113.7'])).data).toMatchObject({ allowlisted: true });
    expect((await stage.run('allowlists-check', ['198.51.100.7'])).data).toEqual({ value: '198.51.100.7', allowlisted: false, by: null });
    await stage.run('allowlists-remove', ['own'], { operator: answering({ values: ['203.0.113.0/24'] }) });
    expect((await stage.run('allowlists-check', ['203.0.113.7'])).data).toMatchObject({ allowlisted: false });
    await stage.run('allowlists-delete', ['own']);
    expect(stage.operator.confirmations[0]?.consequences.join(' ')).toContain('2001:db8::/32');
    expect((await stage.run('allowlists-list')).message).toMatch(/no allowlist/);
  });

  test('a second time nothing is sent: what is so already is not done again', async () => {
    await open();
    for (const _ of [1, 2]) {
      await stage.run('allowlists-create', ['own'], { operator: nobody() });
      await stage.run('allowlists-add', ['own', '203.0.113.7'], { operator: nobody() });
    }
    expect(stage.changes()).toHaveLength(2);
  });

  test.each([
    ['allowlists-add', ['own', 'FR'], 'usage.target'],
    ['allowlists-add', ['own', 'nonsense'], 'usage.target'],
    ['allowlists-add', ['other', '203.0.113.7'], 'usage.allowlist'],
    ['allowlists-delete', ['other'], 'usage.allowlist'],
    ['allowlists-create', ['-x'], 'usage.name'],
  ])('%s %j', async (flow, words, code) => {
    await open();
    await stage.cscli('allowlists', 'create', 'own', '-d', 'own');
    await expect(stage.run(flow, words, { operator: nobody() })).rejects.toMatchObject({ code });
    expect(stage.changes()).toEqual([]);
  });

  test('one that is kept on the web is not touched', async () => {
    await open();
    await stage.cscli('allowlists', 'create', 'web', '-d', 'web');
    for (const list of stage.played.store.allowlists) list.consoleManaged = true;
    await expect(stage.run('allowlists-add', ['web', '203.0.113.7'])).rejects.toMatchObject({ code: 'refused.managed' });
  });

  test('before 1.6.6 there are none, and that is said with what there is instead', async () => {
    await open({ version: '1.4.6' });
    for (const flow of ['allowlists-list', 'allowlists-add', 'allowlists-create']) {
      await expect(
        stage.run(flow, ['own', '203.0.113.7'].slice(0, flow.endsWith('create') ? 1 : 2), { operator: nobody() }),
      ).rejects.toMatchObject({
        code: 'refused.version',
        remedy: expect.stringMatching(/1\.6\.6.*whitelist/),
      });
    }
  });

  test('leaving says that nothing was done', async () => {
    await open();
    await stage.cscli('allowlists', 'create', 'own', '-d', 'own');
    await expect(stage.run('allowlists-add', ['own'], { operator: answering() })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: 'Nothing was put on an allowlist.',
    });
  });
});

describe.each(['1.7.8', '1.4.6'] as const)('bouncers and machines of %s', (version) => {
  test('a key is shown once, and is nowhere else', async () => {
    await open({ version });
    const { message } = await stage.run('bouncers-add', ['proxy'], { operator: answering() });
    const shown = stage.operator.shown.find((one) => one.kind === 'secret');
    const key = shown?.kind === 'secret' ? shown.value : '';
    expect(key).toMatch(/^\S{20,}$/);
    expect(message).toContain('proxy is registered');
    const told = JSON.stringify([
      message,
      await stage.audited(),
      stage.operator.asked,
      stage.engine.commands,
      (await stage.run('bouncers-list')).data,
    ]);
    expect(told).not.toContain(key);
    await expect(stage.run('bouncers-add', ['proxy'])).rejects.toMatchObject({ code: 'usage.bouncer' });
    await stage.run('bouncers-delete', ['proxy']);
    expect(stage.operator.confirmations).toHaveLength(1);
    expect((await stage.run('bouncers-list')).data).toMatchObject({ bouncers: [{ name: 'firewall' }] });
  });

  test('without anybody to see the key none is made, unless a pipe is to have it', async () => {
    await open({ version });
    await expect(stage.run('bouncers-add', ['proxy'], { operator: nobody() })).rejects.toMatchObject({ code: 'refused.unattended' });
    expect(stage.changes()).toEqual([]);
    await stage.run('bouncers-add', ['proxy'], { options: { plain: true }, operator: nobody() });
    expect(stage.operator.shown).toMatchObject([{ kind: 'secret', plain: true }]);
  });

  test('a machine that registered itself is let in, and deleted', async () => {
    await open({ version });
    stage.played.store.addMachine('edge', 'secret-of-edge', false);
    const { data } = await stage.run('machines-list');
    expect(data).toMatchObject({ machines: expect.arrayContaining([expect.objectContaining({ name: 'edge', validated: false })]) });
    expect((await stage.run('machines-validate', [], { operator: answering({ name: 'edge' }) })).data).toEqual({ validated: 'edge' });
    expect((await stage.run('machines-validate')).message).toBe('No machine waits to be let in.');
    await stage.run('machines-delete', ['edge']);
    expect((await stage.run('machines-list')).data).not.toMatchObject({
      machines: expect.arrayContaining([expect.objectContaining({ name: 'edge' })]),
    });
    await expect(stage.run('machines-delete', ['edge'])).rejects.toMatchObject({ code: 'usage.name' });
  });
});

describe.each(['1.7.8', '1.4.6'] as const)('the hub of %s', (version) => {
  test('a collection is installed and removed, and CrowdSec reloaded each time', async () => {
    await open({ version });
    const { message, data } = await stage.run('collections-install', ['crowdsecurity/caddy'], { operator: nobody() });
    expect(message).toMatch(/crowdsecurity\/caddy is installed\. CrowdSec was reloaded/);
    expect(data).toEqual({ name: 'crowdsecurity/caddy', reloaded: true });
    expect(stage.engine.requests).toEqual(['restart crowdsec']);
    const list = (await stage.run('collections-list')).data as { items: { name: string }[] };
    expect(list.items.map(({ name }) => name)).toContain('crowdsecurity/caddy');
    expect((await stage.run('collections-install', ['crowdsecurity/caddy'], { operator: nobody() })).message).toBe(
      'crowdsecurity/caddy is installed already.',
    );
    await stage.run('collections-remove', ['crowdsecurity/caddy'], { options: { later: true } });
    expect(stage.engine.requests).toHaveLength(1);
    expect(stage.operator.confirmations).toHaveLength(1);
  });

  test('the upgrade says what it does and what it leaves alone', async () => {
    await open({ version });
    const operator = answering({ reload: 'later' });
    const { message, data } = await stage.run('hub-upgrade', [], { operator });
    expect(operator.texts().join('\n')).toMatch(/changed by hand: crowdsecurity\/whitelists/);
    expect(operator.texts().join('\n')).toMatch(/sshd-logs/);
    expect(message).toMatch(/^Upgraded .*sshd-logs.*takes effect with the next reload/);
    expect(data).toMatchObject({ reloaded: false, left: [] });
    expect(stage.changes()).toEqual(['hub update', 'hub upgrade']);
    expect((await stage.run('hub-upgrade', [], { operator: nobody() })).message).toBe('What is installed is up to date.');
  });

  test('broken off at any act and run again, it comes to its end: nothing twice, and the reload is not forgotten', async () => {
    await open({ version });
    for (const at of ['hub update', 'hub upgrade', 'lapi status']) {
      stage.engine.before = (argv) => {
        if (argv.slice(1).join(' ') === at) throw new Fault({ code: 'unreachable.engine', message: 'The link broke.', remedy: 'Wait.' });
      };
      if (at === 'lapi status')
        stage.engine.refusals.set('restart', new Fault({ code: 'unreachable.engine', message: 'The link broke.', remedy: 'Wait.' }));
      await expect(stage.run('hub-upgrade', [], { operator: nobody() })).rejects.toMatchObject({ code: 'unreachable.engine' });
    }
    stage.engine.before = () => {};
    stage.engine.refusals.clear();
    // What was upgraded is newer than the process that is to read it.
    stage.engine.changedMs = 5_000_000;
    const { message, data } = await stage.run('hub-upgrade', [], { operator: nobody() });
    expect(message).toBe('What is installed is up to date. CrowdSec was reloaded.');
    expect(data).toMatchObject({ reloaded: true });
    // What was tried and did not come about counts among them.
    expect(stage.changes().filter((words) => words === 'hub upgrade')).toHaveLength(2);
    expect(stage.engine.requests.at(-1)).toBe('restart crowdsec');
  });

  test('not now: the index is new, nothing else', async () => {
    await open({ version });
    const { message } = await stage.run('hub-upgrade', [], { operator: answering({ upgrade: 'no' }) });
    expect(message).toBe('Nothing was upgraded; the index of the hub is the new one.');
    expect(stage.changes()).toEqual(['hub update']);
    expect((await stage.run('hub-update')).data).toMatchObject({
      behind: expect.arrayContaining([expect.objectContaining({ name: 'crowdsecurity/sshd' })]),
    });
  });

  test('a collection that there is not, and a name that is none', async () => {
    await open({ version });
    await expect(stage.run('collections-install', ['crowdsecurity/nonsense'])).rejects.toMatchObject({ code: 'usage.collection' });
    await expect(stage.run('collections-install', ['--force'])).rejects.toMatchObject({ code: 'usage.collection' });
    await expect(stage.run('collections-list', [], { options: { kind: 'x' } })).rejects.toMatchObject({ code: 'usage.kind' });
  });

  test('metrics, as tables and as data', async () => {
    await open({ version });
    const { data } = await stage.run('metrics');
    expect(stage.operator.texts()[0]).toBeDefined();
    expect((data as { metrics: unknown }).metrics).not.toBeNull();
  });
});
