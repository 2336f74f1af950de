import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FlowFixture } from '../../test/doubles/flow-fixture.ts';
import { codeInPicture } from '../../test/doubles/seen-code.ts';
import { qrCode } from './qr-code.ts';
import { saveCode } from './save-file.ts';

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

const secret = 'hskey-auth-0123456789ab';
const nowMs = Date.UTC(2026, 10, 20, 14, 3, 7);
const flow = (offered?: true) => saveCode({ code: qrCode(secret), label: 'Key', nowMs, ...(offered && { offered }) });
const here = (name: string) => join(fixture.folder, name);

test('a QR code is saved readable only by its owner, also over a file that others could read, and the audit does not hold it', async () => {
  await writeFile(here('code.svg'), 'precious', { mode: 0o644 });
  fixture.operator.answers = { path: [here('code.svg')] };
  const { message } = await fixture.run(flow(), undefined);
  expect(fixture.operator.confirmations[0]?.consequences).toEqual(['The current content (8 B) is lost.']);
  expect(message).toContain(`${here('code.svg')}, which only you can read (mode 0600)`);
  expect((await stat(here('code.svg'))).mode & 0o777).toBe(0o600);
  expect(codeInPicture(await readFile(here('code.svg'), 'utf8'))).toBe(secret);
  const audited = JSON.stringify(await fixture.audited());
  expect(audited).toContain('QR code of Key');
  expect(audited).not.toContain(secret);
});

test('an offer without an answer saves nothing', async () => {
  fixture.operator.answers = { path: [''] };
  expect((await fixture.run(flow(true), undefined)).message).toBe('The QR code was not saved.');
  expect(await readdir(fixture.folder)).not.toContainEqual(expect.stringMatching(/svg$/));
});
