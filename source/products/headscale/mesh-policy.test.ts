import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MeshFixture } from '../../../test/doubles/mesh-fixture.ts';

let fixture: MeshFixture;
const run: MeshFixture['run'] = (...reported) => fixture.run(...reported);
beforeAll(async () => {
  fixture = await MeshFixture.open();
  await run('mesh-access');
});
afterAll(() => fixture.close());

describe('the policy (R62)', () => {
  const policyText = async () => (await run('mesh-policy')).data.policy;

  test('is shown with its comments, and what can be said of it', async () => {
    const { message, operator, data } = await run('mesh-policy');
    expect(operator.texts()[0]).toMatch(/^\/\/ Who reaches what/);
    expect(message).toMatch(/^Current policy: /);
    expect(data.findings).toEqual(expect.any(Array));
  });

  test('a new one is checked, shown as a diff, set, and reads back as it was written', async () => {
    const before = await policyText();
    const after = before.replace('"dst": ["tag:media:8096"]', '"dst": ["tag:media:8096,8920"]');
    const { message, operator } = await run('mesh-edit-policy', [], { stdin: after });
    expect(message).toBe('Set the policy and verified it by reading it back (1 line added, 1 removed).');
    const lines = operator.reviews[0]?.sections[0]?.lines ?? [];
    expect(
      lines
        .filter(({ mark }) => mark === 'added')
        .map(({ text }) => text)
        .join(),
    ).toMatch(/8096,8920/);
    expect(await policyText()).toBe(after);
    const same = await run('mesh-edit-policy', [], { stdin: after });
    expect(same.message).toMatch(/the new text is the same/);
  });

  test('one with a mistake is not set; the place is said, and what the server says of it', async () => {
    const before = await policyText();
    const bad = before.replace('"tag:media:8096', '"tag:cinema:8096');
    await expect(run('mesh-edit-policy', [], { stdin: bad })).rejects.toMatchObject({ code: 'refused.blocked' });
    const findings = fixture.practice.operator.reviews[0]?.findings.map(({ message }) => message) ?? [];
    expect(findings[0]).toMatch(/^Line 13, column \d+: "tag:cinema" is not defined under tagOwners/);
    expect(findings.join(' ')).toMatch(/The control server reports: .*tag not found: "tag:cinema"/);
    expect(await policyText()).toBe(before);
  });

  test('left at the review nothing is changed; dry-run, it is only looked at', async () => {
    const before = await policyText();
    const open = before.replace('"tag:media:8096', '"*:8096');
    await expect(run('mesh-edit-policy', [], { stdin: open, takes: { 'policy-1': ['cancel'] } })).rejects.toMatchObject({
      message: 'The policy was not changed.',
    });
    expect((await run('mesh-edit-policy', [], { stdin: open, dryRun: true })).message).toBe('Dry run: the policy was not changed.');
    await expect(run('mesh-edit-policy', [], { stdin: '  ' })).rejects.toMatchObject({ code: 'usage.policy' });
    await expect(run('mesh-edit-policy', [], { kind: 'unattended' })).rejects.toMatchObject({ code: 'refused.noTerminal' });
    expect(await policyText()).toBe(before);
  });
});
