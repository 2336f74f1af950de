import { beforeAll, expect, it } from 'vitest';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { checkValue } from '../../source/catalog/field-types.ts';
import { type CatalogFiles, catalogFiles } from '../doubles/rendered-files.ts';

// A secret that becomes part of a text comes out at its program as it was typed, or is not taken.

let catalog: CatalogFiles;
beforeAll(async () => {
  catalog = await catalogFiles();
});

/** What stands before or behind the secret, and the signs that would end or change it there. */
const engines: readonly { is: (before: string, behind: string) => boolean; what: string; bad: readonly string[] }[] = [
  {
    is: (before) => /:\/\/[^"']*:$/.test(before),
    what: 'an address',
    bad: ['a@b', 'a/b', 'a:b', 'a?b', 'a#b', 'a%41', 'a b', '[a', 'a\\b'],
  },
  { is: (before, behind) => /"$/.test(before) && /^"/.test(behind) && before.includes('{'), what: 'JSON', bad: ['a"b', 'a\\b', 'a\tb'] },
];

interface Embedded {
  id: string;
  variable: string;
  before: string;
  behind: string;
}

function embedded(): Embedded[] {
  return [...catalog.entries.values()].flatMap((entry) => {
    if (entry.deploy !== 'compose') return [];
    const { compose } = catalog.source(entry.id);
    return secretsOf(entry).flatMap((variable) =>
      [...compose.matchAll(new RegExp(`^(.*)\\$\\{${variable}(?:[:?-][^}]*)?\\}(.*)$`, 'gm'))].map(([, before = '', behind = '']) => ({
        id: entry.id,
        variable,
        before,
        behind,
      })),
    );
  });
}

const secretsOf = ({ fields }: CatalogEntry) =>
  fields
    .filter(({ secret }) => secret)
    .map(({ env, name }) => env ?? name)
    .filter((name) => /^\w+$/.test(name));
const fieldOf = (id: string, variable: string) =>
  catalog.entries.get(id)?.fields.find(({ env, name }) => (env ?? name) === variable) ?? { type: 'string' as const };

it('in an address or in JSON nothing is taken that would end it there', () => {
  const found = embedded();
  const taken = engines.flatMap(({ is, what, bad }) => {
    const here = found.filter(({ before, behind }) => is(before, behind));
    expect([what, here.length > 0]).toEqual([what, true]);
    return here.flatMap(({ id, variable }) =>
      bad.filter((value) => checkValue(fieldOf(id, variable), value) === undefined).map((value) => [id, variable, value]),
    );
  });
  expect(taken).toEqual([]);
});

it('what says that it takes letters and digits alone does so', () => {
  const taken = [...catalog.entries.values()].flatMap(({ id, fields }) =>
    fields
      .filter(({ rule, secret }) => secret && /letters and digits only|only letters/.test(rule ?? ''))
      .flatMap((field) => (checkValue(field, 'a b#"') === undefined ? [[id, field.name]] : [])),
  );
  expect(taken).toEqual([]);
});

it.each([
  ['authoritative-dns', 'GMYSQL_PASSWORD', ['a#b', ' a', 'a ', '{{ a }}', '{% a %}']],
  ['quic-proxy', 'HYSTERIA_PASSWORD', ['a"b', 'a\\b', 'a\nb']],
  ['mesh-vpn-platform', 'NETBIRD_AUTH_CLIENT_SECRET', ['a"b', 'a\\b', 'a\tb']],
  ['mesh-vpn-platform', 'NETBIRD_TURN_PASSWORD', ['a:b', 'a#b', 'a b']],
  ['mesh-vpn-platform', 'NETBIRD_DATASTORE_ENC_KEY', ['short', 'a"b']],
  ['docs-library', 'APP_KEY', ['short']],
])('%s: %s stands in a file of the container, and takes what that file can hold', (id, variable, bad) => {
  for (const value of bad) expect([value, checkValue(fieldOf(id, variable), value)]).toEqual([value, expect.any(String)]);
});

it.each([
  ['mesh-vpn-platform', 'NETBIRD_DOMAIN'],
  ['zero-trust-gateway', 'SITE_NAME'],
])('%s: %s is the name of a site of its proxy, which takes no other', (id, variable) => {
  for (const value of ['a.', 'fe80::1%eth0', '::1', '*.example.org', 'a b', '{$HOME}', 'a\nb', 'ü.example', 'a"b', 'a'.repeat(255)])
    expect([value, checkValue(fieldOf(id, variable), value)]).toEqual([value, expect.any(String)]);
  for (const value of ['a.example.org', '192.0.2.1', 'A.B']) expect(checkValue(fieldOf(id, variable), value)).toBeUndefined();
});
