import { describe, expect, test } from 'vitest';
import type { FlowBody } from '../../test/doubles/console/fake-app.ts';
import { asciiTheme, type HarnessOptions, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { Fault } from '../faults/fault.ts';
import type { ChecklistItem } from '../session/checklist.ts';
import type { ChoiceQuestion } from '../session/session.ts';

const seen = { by: 'ada@desk', at: '2026-11-22T09:16:40.000Z' };
const item = (
  id: string,
  section: string,
  title: string,
  state: ChecklistItem['state'],
  summary: string,
  more: Partial<ChecklistItem> = {},
): ChecklistItem => ({
  ...{ id, section, title, state, summary, evidence: [] },
  ...seen,
  ...more,
});
const items = [
  item('skew', 'Current state', 'Version skew', 'ok', 'everything is of one minor'),
  item('nodes', 'Health', 'Nodes', 'ok', '4 nodes ready', { evidence: ['cp-1  v1.31.6  ready', 'worker-1  v1.31.6  ready'] }),
  item('webhooks', 'Health', 'Webhooks', 'blocked', 'nobody is behind policy/policy-webhook', {
    evidence: [
      'policy-webhook (pods.policy.example.com)',
      ...Array.from({ length: 30 }, (_, index) => `line ${index + 1} of what was seen`),
    ],
    advice: 'Bring its service back.',
  }),
  item('snapshot', 'Health', 'etcd snapshot', 'blocked', 'the last one is 3 days old'),
  item('pods', 'Health', 'Pods', 'skipped', '1 pod in trouble', { reason: 'known since March' }),
  ...Array.from({ length: 12 }, (_, index) => item(`node ${index}`, 'The upgrade', `worker-${index}`, 'todo', '')),
];
const choices = [
  { value: 'snapshot', label: 'Take an etcd snapshot now' },
  { value: 'again', label: 'Check again' },
  { value: 'skip:webhooks', label: 'Skip "Webhooks"' },
  { value: 'leave', label: 'Pause' },
];
const question: ChoiceQuestion = {
  kind: 'choice',
  id: 'checklist',
  label: 'Upgrade home from v1.31.6 to v1.32.4?',
  help: '1 item in the way: Webhooks (webhooks).',
  choices,
  checklist: { title: 'Upgrade of home to v1.32.4', items },
};

/** A flow that prompts with this checklist, and the answers that it received. */
function fixture(asked: ChoiceQuestion = question) {
  const answers: unknown[] = [];
  const restart: FlowBody = async (operator, _input, signal) => {
    try {
      answers.push(await operator.ask(asked, signal));
    } catch (thrown) {
      answers.push(thrown instanceof Fault ? thrown.code : thrown);
      throw thrown;
    }
    return 'Answered';
  };
  const open = async (options: HarnessOptions = {}) => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 }, ...options, flows: { restart } });
    await screen.press('r');
    return screen;
  };
  return { answers, open };
}

describe('a checklist', () => {
  test('opens at what blocks, with its evidence, and shows that of each item that is gone to', async () => {
    const { open } = fixture();
    const screen = await open();
    await screen.sees(
      'Upgrade of home to v1.32.4',
      '2 blocked  2 ok  1 skipped  12 to do',
      /▸ ✖ blocked +Webhooks/,
      '→ Bring its service back.',
      'ada@desk, 2026-11-22 09:16 UTC',
      '1 item in the way',
    );
    await screen.press('k');
    await screen.sees(/▸ ● ok +Nodes/, 'cp-1  v1.31.6  ready');
    await screen.misses('→ Bring its service back.');
    await screen.press('j', 'j', 'j');
    await screen.sees(/▸ ○ skipped +Pods +known since March/, 'Skipped because: known since March');
    await screen.press('G');
    await screen.sees(/▸ ○ todo +worker-11/);
    await screen.press('g');
    await screen.sees(/▸ ● ok +Version skew/, 'Current state');
  });

  test('long evidence scrolls, and the item stays', async () => {
    const { open } = fixture();
    const screen = await open();
    await screen.sees('4 of 34 lines');
    await screen.misses('line 20 of what');
    for (let page = 0; page < 40 && !screen.frame().includes('line 30 of what'); page++) await screen.press('pagedown');
    await screen.sees('line 30 of what', /▸ ✖ blocked +Webhooks/);
  });

  test.each([
    ['r', 'again'],
    ['s', 'skip:webhooks'],
    ['esc', 'interrupted.cancelled'],
  ])('%s answers %s', async (key, answer) => {
    const { answers, open } = fixture();
    const screen = await open();
    await screen.sees('s skip this', 'r check again', 'Esc leave');
    await screen.press(key);
    await screen.misses('Upgrade of home');
    expect(answers).toEqual([answer]);
  });

  test('Enter acts on the selected item, and does nothing at another one but say where it would', async () => {
    const { answers, open } = fixture();
    const screen = await open();
    await screen.sees(/▸ ✖ blocked +Webhooks/);
    await screen.misses('Enter take');
    await screen.press('enter');
    await screen.sees('Enter has no effect on this item. Select "etcd snapshot"');
    expect(answers).toEqual([]);
    await screen.press('j');
    await screen.sees(/▸ ✖ blocked +etcd snapshot/, 'Enter take an etcd snapshot now');
    await screen.press('enter');
    await screen.misses('Upgrade of home');
    expect(answers).toEqual(['snapshot']);
  });

  test('what does not block cannot be skipped, and Enter does nothing while something blocks', async () => {
    const { answers, open } = fixture({ ...question, choices: choices.slice(1) });
    const screen = await open();
    await screen.press('k');
    await screen.misses('s skip this');
    await screen.press('s');
    await screen.sees('This item is not blocked, so it cannot be skipped.');
    await screen.press('enter');
    await screen.sees('Enter has no effect while an item is blocked.');
    expect(answers).toEqual([]);
  });

  test('with nothing in the way it opens at the next step, and Enter goes on there alone', async () => {
    const clear = items.map((each) => (each.state === 'blocked' ? { ...each, state: 'warning' as const } : each));
    const { answers, open } = fixture({
      ...question,
      choices: [
        { value: 'go', label: 'Go on: the control plane first' },
        { value: 'again', label: 'Check again' },
      ],
      checklist: { title: question.checklist?.title ?? '', items: clear },
    });
    const screen = await open();
    await screen.sees(/▸ ○ todo +worker-0/, 'Enter go on');
    await screen.press('k');
    await screen.misses('Enter go on');
    await screen.press('enter');
    await screen.sees('Select "worker-0" to go on.');
    await screen.press('j', 'enter');
    await screen.misses('Upgrade of home');
    expect(answers).toEqual(['go']);
  });

  test('text from the cluster cannot move the cursor or hide what is there', async () => {
    const hostile = item('nodes', 'How\x1b[2J it is', 'No\x1b]0;title\x07des', 'blocked', 'is\x1b[31m red\u202e', {
      evidence: ['\x1b[5A up', `${'x'.repeat(500)}`],
    });
    const { open } = fixture({ ...question, checklist: { title: 'Upgrade of \x1b[1mhome', items: [hostile] } });
    const screen = await open();
    await screen.sees('Upgrade of home', /blocked +Nodes/, 'is red<U+202E>', 'up');
    expect(screen.raw()).not.toMatch(/\x1b\[2J|\x1b\]0|\x1b\[5A/);
    expect(misfits(screen.raw(), { columns: 80, rows: 24 })).toEqual([]);
  });

  test.each([
    [60, 16],
    [80, 24],
    [120, 36],
    [200, 60],
  ])('fits %i x %i, in ASCII too', async (columns, rows) => {
    for (const theme of [undefined, asciiTheme]) {
      const { open } = fixture();
      const screen = await open({ size: { columns, rows }, ...(theme && { theme }) });
      await screen.sees('Webhooks', 'blocked');
      expect(misfits(screen.raw(), { columns, rows })).toEqual([]);
      if (theme) expect(screen.frame()).toMatch(/^[\x20-\x7e\n]*$/);
    }
  });
});
