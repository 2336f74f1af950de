import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { Fault } from '../../faults/fault.ts';
import type { ChecklistItem } from '../../session/checklist.ts';
import type { Question } from '../../session/session.ts';

let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture.close());

const itemsOf = (data: unknown): Record<string, ChecklistItem> =>
  Object.fromEntries((data as { items: ChecklistItem[] }).items.map((item) => [item.id, item]));

class Somebody extends OperatorDouble {
  override async ask(question: Question): Promise<string | readonly string[]> {
    this.asked.push(question);
    const answer = this.answers[question.id]?.shift();
    if (answer !== undefined) return answer;
    throw new Fault('usage.unanswered', `Nobody is there: ${question.label}`, 'Answer it.');
  }
}
function somebody(answers: Record<string, string[]>, kind: 'terminal' | 'unattended' = 'terminal'): Somebody {
  const operator = new Somebody(kind);
  operator.answers = answers;
  return operator;
}
const upgrade = (id: string, answers: Record<string, string[]>, options: Record<string, string | boolean | readonly string[]> = {}) =>
  fixture.run('upgrade', '', { words: [id], options }, { operator: somebody(answers) });

describe('the upgrade of a component (R84)', () => {
  test('looking tells notes, room, backup and every step, and changes nothing', async () => {
    const { message, data } = await upgrade('password-vault', {}, { check: true });
    expect(message).toMatch(/^password-vault has no blocking items\./);
    const items = itemsOf(data);
    expect(Object.keys(items)).toEqual(expect.arrayContaining(['notes', 'disk', 'backup', 'update']));
    expect(items['notes']?.evidence.join(' ')).toMatch(/runs .*vaultwarden/);
    expect(items['disk']).toMatchObject({ summary: expect.stringMatching(/free on \//) });
  });

  test('steps before and after are confirmed around the update; left behind it, somebody goes on without updating again', async () => {
    const id = 'secrets-manager-path';
    const before = await fixture.containers(id);
    await expect(
      upgrade(id, {
        'step-1': ['done'],
        'step-2': ['skip'],
        'reason step-2': ['three are on call'],
        checklist: ['go'],
        'step-3': ['leave'],
      }),
    ).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: expect.stringMatching(/secrets-manager-path was not changed; remaining: Unseal OpenBao/),
      remedy: expect.stringMatching(/quarterdeck upgrade secrets-manager-path$/),
    });
    const order = fixture.operator.asked.map(({ id: step }) => step);
    expect(order).toEqual(['step-1', 'step-2', 'reason step-2', 'checklist', 'step-3']);
    expect(fixture.operator.asked.find(({ id: step }) => step === 'step-3')?.label).toMatch(/^Unseal OpenBao/);
    const after = await fixture.containers(id);

    const report = join(fixture.access.folder, 'report.md');
    const { message, data } = await upgrade(id, { 'step-3': ['done'] }, { report });
    expect(message).toMatch(/^secrets-manager-path already uses its newest image\./);
    expect(fixture.operator.asked.map(({ id: step }) => step)).toEqual(['step-3']);
    expect(await fixture.containers(id)).toEqual(after);
    expect(Object.keys(before)).toEqual(Object.keys(after));
    const items = itemsOf(data);
    expect(items['update']?.state).toBe('ok');
    expect(items['probe']).toMatchObject({ state: 'ok' });
    expect(items['step-3']).toMatchObject({ state: 'ok' });
    expect(await readFile(report, 'utf8')).toMatch(
      /^# Upgrade of secrets-manager-path on practice[\s\S]*- \[x\] \*\*Unseal OpenBao, and read one secret to verify that it works\*\*: ok/,
    );
    // The next run starts a new checklist.
    await expect(upgrade(id, {})).rejects.toMatchObject({
      code: 'usage.unanswered',
      message: expect.stringMatching(/Take a snapshot of the storage first/),
    });
  });

  test('a newer image is fetched, recreated and seen healthy, and the way back is told', async () => {
    await fixture.run('incident', 'calm', { words: ['newer-images'] });
    const before = await fixture.containers('rss-reader');
    const steps = (fixture.app.catalog.get('rss-reader')?.upgrade?.steps ?? []).map((_, index) => [`step-${index + 1}`, ['done']]);
    const { message, data } = await upgrade('rss-reader', { ...Object.fromEntries(steps), checklist: ['go'] });
    expect(message).toMatch(/^Upgraded rss-reader\. .*quarterdeck restore rss-reader --snapshot/);
    expect(await fixture.containers('rss-reader')).not.toEqual(before);
    const items = itemsOf(data);
    expect(items['update']).toMatchObject({ state: 'ok', evidence: [expect.stringMatching(/^run \d{8}T/)] });
    expect(items['probe']?.state).toBe('ok');
    expect(items['rollback']?.summary).toMatch(/quarterdeck restore rss-reader --snapshot/);
  });

  test('left before the change nothing was updated, and that is said', async () => {
    await expect(upgrade('password-vault', { checklist: ['leave'], 'step-1': ['done'], 'step-2': ['done'] })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: expect.stringMatching(/password-vault was not updated\./),
      remedy: expect.stringMatching(/quarterdeck upgrade password-vault$/),
    });
  });

  test('--skip of an unknown item is refused with a list of the items', async () => {
    await expect(upgrade('password-vault', {}, { check: true, skip: ['backups=on the NAS'] })).rejects.toMatchObject({
      code: 'usage.skip',
      message: 'Unknown item "backups" in --skip.',
      remedy: expect.stringMatching(/^Items: notes, disk, backup, step-1\b/),
    });
  });

  test('the checklist of another component is refused, with what it belongs to', async () => {
    const checklist = join(fixture.access.folder, 'handed-over.json');
    await expect(upgrade('password-vault', { 'step-1': ['leave'] }, { checklist, skip: ['backup=none needed'] })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
    });
    await expect(upgrade('rss-reader', {}, { checklist, check: true })).rejects.toMatchObject({
      code: 'refused.checklist',
      message: expect.stringMatching(/"Upgrade of password-vault on practice", started by \S+ \(component: password-vault, host: practice/),
    });
  });

  test('a component that was not deployed from here is refused as an update is', async () => {
    await expect(upgrade('practice-of-nobody', {})).rejects.toMatchObject({ code: 'usage.context' });
  });

  test('what is kept of a walk names who said what, and no secret', async () => {
    const { folder = '' } = (await fixture.app.context.checklists?.()) ?? {};
    expect(await readdir(folder)).toContain('component-practice-secrets-manager-path.json');
    const text = await readFile(join(folder, 'component-practice-secrets-manager-path.json'), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ schema: 1, startedBy: expect.stringMatching(/^.+@.+$/) });
    for (const secret of [fixture.access.facts.rootToken, ...fixture.access.facts.shares]) expect(text).not.toContain(secret);
  });
});
