import { join } from 'node:path';
import { expect } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import type { Host } from '../../source/hosts/host.ts';
import type { RemoteHost } from './remote-host.ts';

const soon = (limitMs = 60_000) => AbortSignal.timeout(limitMs);

const odd = [
  '',
  ' two  spaces ',
  "it's",
  '"q"',
  '$HOME',
  '`id`',
  '$(id)',
  '*',
  'a\\nb',
  'a\nb',
  '-n',
  '!x',
  '%s',
  '~',
  '{a,b}',
  'é€😀',
  ';|&<>#',
];

/** What a program says there. */
export async function text(host: Host, argv: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await host.exec(argv, { signal: soon(), limitMs: 30_000, ...(env && { env }) });
  return Buffer.from(stdout).toString();
}

/** All that a host can do, once. */
export async function works({ host }: RemoteHost, home: string): Promise<void> {
  const said = await text(host, ['sh', '-c', `for a; do printf '%s\\000' "$a"; done`, 'sh', ...odd]);
  expect(said.split('\0').slice(0, -1)).toEqual(odd);
  expect(await text(host, ['printenv', 'ODD'], { ODD: `'"$HOME\`\\ é\n!x` })).toBe(`'"$HOME\`\\ é\n!x\n`);
  const path = join(home, `it's $HOME\n"Größe"`);
  const grant = mintGrant('test', 'destroy', soon());
  await host.files.makeFolder(grant, path, { mode: 0o700 });
  const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 256);
  await host.files.write(grant, join(path, '-file'), bytes, { mode: 0o600 });
  expect(await host.files.list(path, soon())).toEqual(['-file']);
  expect(Buffer.from((await host.files.read(join(path, '-file'), { signal: soon() })) ?? []).equals(Buffer.from(bytes))).toBe(true);
  expect(await host.files.facts(join(path, '-file'), soon())).toMatchObject({ kind: 'file', sizeBytes: bytes.length });
  const piped = await host.pipe(grant, ['tr', 'a-c', 'A-C']);
  piped.stdin.end('abcd');
  let heard = '';
  for await (const chunk of piped.stdout) heard += String(chunk);
  expect(heard).toBe('ABCd');
  expect(await piped.ended).toMatchObject({ exitCode: 0 });
  expect((await host.facts(soon())).home).toBe(home);
}
