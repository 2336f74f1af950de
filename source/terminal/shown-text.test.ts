import { expect, test } from 'vitest';
import { OutputStream } from '../../test/doubles/streams.ts';
import { qrCode } from '../flows/qr-code.ts';
import { Output } from './output.ts';
import { JsonSink, TextSink } from './shown-text.ts';

const secret = { kind: 'secret', label: 'Key', value: 'hskey-auth-1', secondsLeft: 15, code: qrCode('hskey-auth-1') } as const;

function shown(stdout: OutputStream) {
  const stderr = new OutputStream();
  new TextSink(new Output({ stdout, stderr, env: { LANG: 'C.UTF-8', NO_COLOR: '1' } } as never)).show(secret);
  return { stdout: stdout.text, stderr: stderr.text };
}

test('a secret with a code: the value, and the code below it where it fits', () => {
  const wide = shown(new OutputStream({ columns: 80 }));
  expect(wide.stdout).toMatch(/^Key: hskey-auth-1\n[█▀▄ \n]+$/);
  const narrow = shown(new OutputStream({ columns: 20 }));
  expect(narrow.stdout).toBe('Key: hskey-auth-1\n');
  expect(narrow.stderr).toMatch(/needs a terminal of \d+ columns/);
});

test('neither value nor code goes into a pipe or into JSON', () => {
  expect(() => shown(new OutputStream())).toThrow(/is a secret/);
  expect(() => new JsonSink().show(secret)).toThrow(/is a secret/);
});
