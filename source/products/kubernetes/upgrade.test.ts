import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { readRunJournals } from '../../session/journal.ts';

let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture.close());

const upgrade = (
  words: readonly string[],
  options: Record<string, string | boolean> = {},
  answers: Record<string, string[]> = {},
  dryRun = false,
) => {
  const operator = new OperatorDouble();
  operator.answers = answers;
  return fixture.run('upgrade', '', { words, options }, { operator, dryRun });
};

describe('what is upgraded', () => {
  test('is the cluster of the practice, found by the kubeconfig of its machine, with its nodes', async () => {
    const { data, exitCode } = await upgrade(['practice'], { to: '1.32.4', check: true });
    expect(exitCode).toBe(1);
    expect(data).toMatchObject({ context: 'practice', from: 'v1.31.6', to: 'v1.32.4' });
    const { items } = data as { items: { id: string; state: string; summary: string }[] };
    // Read through kubeadm on the node itself.
    expect(items.find(({ id }) => id === 'certificates')?.summary).toMatch(/front-proxy-client \(19 days\)/);
    // Without an argument the only context is used.
    expect((await upgrade([], { to: '1.32.4', check: true })).data).toMatchObject({ context: 'practice' });
  });

  test('is a component where the word is the name of one', async () => {
    expect((await upgrade(['password-vault'], { check: true })).data).toMatchObject({ component: 'password-vault', host: 'practice' });
  });

  test('a word that is neither, and one word too many, are told', async () => {
    await expect(upgrade(['pracitce'])).rejects.toMatchObject({ code: 'usage.context', remedy: expect.stringMatching(/practice/) });
    await expect(upgrade(['practice', 'password-vault'])).rejects.toMatchObject({ code: 'usage.words' });
    await expect(upgrade(['nobody'], { kubeconfig: '/nowhere/config' })).rejects.toMatchObject({
      code: 'usage.component',
      message: expect.stringMatching(/^No component or cluster "nobody"\. No kubeconfig found/),
    });
  });

  test('without a cluster, and without a word, the components are offered', async () => {
    const chosen = fixture.component('password-vault');
    const { data } = await upgrade([], { kubeconfig: '/nowhere/config', check: true }, { component: [chosen?.key ?? ''] });
    expect(data).toMatchObject({ component: 'password-vault' });
  });

  test('a dry run of a component shows what an update would do, and does nothing', async () => {
    const before = await fixture.containers('rss-reader');
    const { message } = await upgrade(['rss-reader'], {}, {}, true);
    expect(message).toBe('Dry run: rss-reader was not changed.');
    expect(await fixture.containers('rss-reader')).toEqual(before);
  });

  test('what was left in the middle is listed with what it was about', async () => {
    await expect(upgrade(['practice'], { to: '1.32.4' }, { checklist: ['snapshot', 'leave'] })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
    });
    const [run] = (await readRunJournals(join(fixture.access.paths.state, 'journal'))).open;
    expect(run).toMatchObject({ flow: 'upgrade', words: ['practice'], acts: ['snapshot'] });
  });

  test('a program that is not on a node is not there', async () => {
    const answer = await fixture.app.context.practice?.runOnNode?.('worker-1', ['crictl', 'ps'], new AbortController().signal);
    expect(answer).toEqual({ exitCode: 127, stdout: '', stderr: 'crictl: command not found\n' });
  });
});
