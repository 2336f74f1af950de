import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../../../source/catalog/catalog.ts';
import { answered, entries, entryOf, findingsOf } from './answers.ts';

it('every component that is probed has its answers in these files', async () => {
  const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.test.ts'));
  const texts = await Promise.all(files.map((name) => readFile(join(import.meta.dirname, name), 'utf8')));
  const answeredFor = new Set(texts.flatMap((text) => [...text.matchAll(/^table\('([\w-]+)'/gm)].map(([, id]) => id)));
  expect(entries.flatMap(({ id, probe }) => (probe && !answeredFor.has(id) ? [id] : []))).toEqual([]);
});

describe('what is asked without being asked to', () => {
  const asked = (entry: CatalogEntry) => [
    ...new Set([...(entry.probe ? [entry.probe.call, ...entry.probe.also] : []), ...entry.checks.flatMap(({ calls }) => calls)]),
  ];

  it.each(entries.filter(({ deploy }) => deploy === 'compose').map((entry) => [entry.id, entry] as const))(
    '%s only reads, and logs in nowhere',
    (_, entry) => {
      expect(entry.probe).toBeDefined();
      for (const name of asked(entry)) {
        const call = entry.calls[name];
        expect(call, name).toMatchObject({ reads: true, auth: 'none' });
        expect(call?.http?.basic, name).toBeUndefined();
        for (const header of Object.keys(call?.http?.headers ?? {}))
          expect(header.toLowerCase(), name).not.toMatch(/^(?:authorization|cookie|x-.*(?:key|token))$/);
        if (call?.http) expect(['GET', 'HEAD'], name).toContain(call.http.method);
      }
    },
  );

  it.each(entries.map((entry) => [entry.id, entry] as const))('%s runs programs inside containers at most once a minute', (_, entry) => {
    for (const name of asked(entry)) {
      const call = entry.calls[name];
      if (call?.exec) expect(call.keep, name).not.toMatch(/^0|s$/);
    }
  });

  it.each(entries.map((entry) => [entry.id, entry] as const))(
    '%s has no pattern that can never match',
    (_, { probe, checks, firstRun }) => {
      const conditions = [
        ...(probe?.states ?? []).map(({ when }) => when),
        ...checks.map(({ when }) => when),
        ...firstRun.map(({ done }) => done),
      ];
      const patterns = conditions.flatMap((condition) => [...(condition ?? '').matchAll(/\.matches\("((?:[^"\\]|\\.)*)"\)/gs)]);
      for (const [, pattern = ''] of patterns) expect(() => new RegExp(pattern.replaceAll('\\\\', '\\'))).not.toThrow();
    },
  );

  it('never asks the LLM proxy for the health of its models, which costs money', () => {
    for (const [name, call] of Object.entries(entryOf('llm-proxy').calls)) expect(call.http?.path, name).not.toBe('/health');
  });

  it('never gives the single sign-on portal or the DNS filter a password that could be wrong', () => {
    for (const id of ['sso-portal', 'dns-filter-second']) {
      const entry = entryOf(id);
      for (const name of asked(entry)) expect(Object.keys(entry.calls[name]?.inputs ?? {}), `${id} ${name}`).toEqual([]);
    }
  });
});

describe('checks', () => {
  it('localhost in an address that is used inside a container is an error (R14)', () => {
    expect(findingsOf('idp-enterprise', {}, { env: { KC_DB_URL: 'jdbc:postgresql://localhost:5432/keycloak' } })).toContain(
      'kc-db-url-at-localhost',
    );
    expect(findingsOf('idp-enterprise', {}, { env: { KC_DB_URL: 'jdbc:postgresql://db:5432/keycloak' } })).toEqual([]);
    expect(findingsOf('rss-reader', {}, { env: { DATABASE_URL: 'postgres://miniflux:x@127.0.0.1/miniflux' } })).toContain(
      'database-url-at-localhost',
    );
    expect(findingsOf('sso-portal', {}, { env: { LDAP_URL: 'ldap://localhost:3890' } })).toContain('ldap-url-at-localhost');
    expect(
      findingsOf('llm-proxy', {
        configuration: answered(
          0,
          'model_list:\n  - model_name: a\n    litellm_params:\n      model: ollama/a\n      api_base: http://localhost:11434\n',
        ),
      }),
    ).toEqual(['runtime-at-localhost']);
  });

  it.each(entries.map((entry) => [entry.id, entry] as const))('%s finds nothing when nothing answers and nothing is known', (_, entry) => {
    expect(findingsOf(entry.id, {}, { age: 10 })).toEqual([]);
  });
});

describe('operations', () => {
  it.each(entries.map((entry) => [entry.id, entry] as const))(
    '%s puts no secret into the arguments of a program, and says what is lost',
    (_, entry) => {
      for (const operation of entry.operations) {
        const call = entry.calls[operation.call];
        const argv = call?.exec?.argv.join(' ') ?? '';
        for (const [name, input] of Object.entries(call?.inputs ?? {}))
          if (input.secret) expect(argv, operation.id).not.toContain(`<${name}>`);
        if (operation.right === 'destroy') expect(operation.consequences.length, operation.id).toBeGreaterThan(0);
        if (operation.right === 'read') expect(call?.reads, operation.id).toBe(true);
      }
    },
  );
});
