import { expect, test } from 'vitest';
import { seenCode } from '../../test/doubles/seen-code.ts';
import { OutputStream } from '../../test/doubles/streams.ts';
import { JsonSink } from '../app/unattended-operator.ts';
import { qrCode } from '../flows/qr-code.ts';
import { Output } from './output.ts';
import { TextSink } from './shown-text.ts';

const secret = { kind: 'secret', label: 'Key', value: 'hskey-auth-1', secondsLeft: 15, code: qrCode('hskey-auth-1') } as const;

function shown(stdout: OutputStream, env: Readonly<Record<string, string>> = { NO_COLOR: '1' }) {
  const stderr = new OutputStream();
  const sink = new TextSink(new Output({ stdout, stderr, env: { LANG: 'C.UTF-8', ...env } } as never));
  sink.show(secret);
  return { stdout: stdout.text, stderr: stderr.text, sink };
}

test('a secret with a code: the value, and the code below it where it fits', () => {
  const coloured = shown(new OutputStream({ columns: 80, rows: 24 }), {});
  expect(seenCode(coloured.stdout.split('\n').slice(1, -1), { ascii: false, drawnIsDark: true })).toBe('hskey-auth-1');
  expect(coloured.sink.takeCode()).toBeUndefined();
  const plain = shown(new OutputStream({ columns: 80, rows: 24 }));
  expect(plain.stdout).toMatch(/^Key: hskey-auth-1\n[█▀▄ \n]+$/);
  expect(seenCode(plain.stdout.split('\n').slice(1, -1), { ascii: false, drawnIsDark: false })).toBe('hskey-auth-1');
  expect(plain.stderr).toContain('drawn for a dark background');
});

test.each([
  { columns: 20, rows: 24 },
  { columns: 80, rows: 13 },
])('no half of a code in a terminal of $columns x $rows: its size is printed, and it is there to be saved', (size) => {
  const { stdout, stderr, sink } = shown(new OutputStream(size), {});
  expect(stdout).toMatch(/^\S*Key:\S* hskey-auth-1\n$/);
  expect(stderr).toContain(`The QR code needs 25 x 14 characters, but this terminal has ${size.columns} x ${size.rows}.`);
  expect(sink.takeCode()).toEqual({ code: secret.code, label: 'Key' });
  expect(sink.takeCode()).toBeUndefined();
});

test('neither value nor code goes into a pipe or into JSON', () => {
  expect(() => shown(new OutputStream())).toThrow(/is a secret/);
  expect(() => new JsonSink().show(secret)).toThrow(/is a secret/);
});
