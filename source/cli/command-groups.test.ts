import { beforeEach, expect, test, vi } from 'vitest';
import { flows } from '../app/flow-registry.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import { parseCommandLine } from './command-line.ts';
import { runFlowVerb } from './commands/flow.ts';

vi.mock('./commands/flow.ts', () => ({ runFlowVerb: vi.fn(async () => 0) }));
beforeEach(() => vi.mocked(runFlowVerb).mockClear());

/** Returns the verb, words and options that reach the flow. */
async function reached(...argv: string[]): Promise<[string, readonly string[], FlowInput['options']]> {
  const parsed = await parseCommandLine(argv, { flows, version: '1.0.0', columns: 80 });
  if ('text' in parsed) return expect.fail(parsed.text);
  await parsed.run?.({} as never);
  const [, flow, words, options] = vi.mocked(runFlowVerb).mock.calls.at(-1) ?? expect.fail('nothing ran');
  return [(flow as Flow).verb, words, options];
}

test('"backup" runs and is a group: options that both have are those of the verb that was named', async () => {
  expect(await reached('backup', 'list', 'vault', '--to', '/srv')).toEqual(['backup list', ['vault'], { to: '/srv' }]);
  expect(await reached('backup', '--to', '/srv', 'all', '--yes')).toEqual(['backup all', [], { to: '/srv' }]);
  expect(await reached('backup', 'schedule', '--recipient', 'age1a', '--at', '03:15', '--recipient', 'age1b')).toEqual([
    'backup schedule',
    [],
    { at: '03:15', recipient: ['age1a', 'age1b'] },
  ]);
  expect(await reached('backup', 'vault', '--to', '/srv')).toEqual(['backup', ['vault'], { to: '/srv' }]);
});

test('an option that the verb does not have is refused, whoever else has it', async () => {
  await expect(reached('backup', 'unschedule', '--to', '/srv')).rejects.toMatchObject({
    code: 'usage.commandLine',
    message: "Unknown option '--to'.",
  });
});

test('options reach a flow under the names that it gives them', async () => {
  expect(await reached('backup', 'vault', '--keep-all', '--password-file', '/f')).toEqual([
    'backup',
    ['vault'],
    { 'keep-all': true, 'password-file': '/f' },
  ]);
});

test('--version after a verb that has such an option is that option, elsewhere it is the version of the program', async () => {
  expect(await reached('vault', 'delete', 'vault', 'secret/a', '--version', '3')).toEqual([
    'vault delete',
    ['vault', 'secret/a'],
    { version: ['3'] },
  ]);
  expect(await reached('run', 'secrets', 'reveal', 'vault', 'KEY', '--version', 'a')).toEqual([
    'secrets reveal',
    ['vault', 'KEY'],
    { version: 'a' },
  ]);
  for (const argv of [['--version'], ['-V'], ['status', '--version'], ['--host', 'nas', '--version']])
    expect(await parseCommandLine(argv, { flows, version: '1.0.0', columns: 80 })).toEqual({ text: '1.0.0\n' });
});

test('every verb stands under a heading of the help, and a word that several begin with says what they are about', async () => {
  const printed = await parseCommandLine(['help'], { flows, version: '1.0.0', columns: 100 });
  if (!('text' in printed)) return expect.fail('no help');
  expect(printed.text).not.toContain('More:');
  expect(printed.text).not.toContain('in several ways');
  for (const word of new Set(flows.map(({ verb }) => verb.split(' ')[0]))) expect(printed.text).toMatch(new RegExp(`^  ${word}[ |]`, 'm'));
});
