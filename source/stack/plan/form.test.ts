import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { anyCharacter } from '../../../test/doubles/any-character.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import type { Form } from '../../session/session.ts';
import { type ComponentSource, readComponentSource } from '../component-source.ts';
import type { Deployment, DeployRecord } from '../model.ts';
import { answersOf, answersOfDeployment, parseSet } from './answers.ts';
import { type FormContext, formOf } from './form.ts';
import { variablesOf } from './variables.ts';

const entries = new Map<string, CatalogEntry>();
const sources = new Map<string, ComponentSource>();

beforeAll(async () => {
  for (const entry of (await wholeCatalog()).entries) {
    entries.set(entry.id, entry);
    if (entry.deploy === 'compose') sources.set(entry.id, await readComponentSource(entry, join(process.cwd(), 'catalog')));
  }
});

function take(id: string, more: Partial<FormContext> = {}): { entry: CatalogEntry; source: ComponentSource; context: FormContext } {
  const entry = entries.get(id);
  const source = sources.get(id);
  if (!entry || !source) throw new Error(`${id} did not compile`);
  return { entry, source, context: { source, others: [], secretsKnown: {}, hasData: false, runtime: 'docker', ...more } };
}

function record(component: string, more: Partial<DeployRecord> = {}): DeployRecord {
  return { schema: 1, component, run: 'r', at: '', by: '', files: {}, secrets: {}, images: {}, ...more };
}

function deployment(component: string, env: Record<string, string>, more: Partial<DeployRecord> = {}): Deployment {
  return {
    component,
    folder: `/s/${component}`,
    compose: sources.get(component)?.compose ?? '',
    envText: '',
    env,
    files: {},
    record: record(component, more),
  };
}

const line = (form: Form, id: string) => {
  const found = form.fields.find((field) => field.id === id);
  if (!found) throw new Error(`no line ${id}, only ${form.fields.map((field) => field.id).join(', ')}`);
  return found;
};

describe('formOf', () => {
  it('has a line for every variable of every compose.yaml that can be chosen, and each under one heading (R17)', () => {
    for (const id of sources.keys()) {
      const { entry, source, context } = take(id);
      const form: Form = formOf(entry, context);
      const ids = form.fields.map((field) => field.id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const { name, kind, port } of variablesOf(entry, source)) {
        if (kind === 'bind') expect(ids.includes(name)).toBe(port?.exposure === 'all');
        else if (kind === 'port') expect(ids.includes(name)).toBe(!port?.fixed);
        else expect(ids).toContain(name);
      }
      expect(form.fields.every((field) => ['Settings', 'Secrets', 'Ports', 'Address'].includes(field.section))).toBe(true);
    }
  });

  it('takes a variable that says where a program listens inside its container for a setting', () => {
    const { entry, source, context } = take('rss-reader');
    const compose = 'services:\n  reader:\n    image: a\n    ports: ["${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8090}:${APP_PORT:-8080}"]\n';
    const changed = { ...source, compose };
    const kinds = variablesOf(entry, changed).map(({ name, kind }) => [name, kind]);
    expect(kinds).toEqual(expect.arrayContaining([...Object.entries({ WEB_BIND: 'bind', WEB_PORT: 'port', APP_PORT: 'setting' })]));
    expect(line(formOf(entry, { ...context, source: changed }), 'APP_PORT').section).toBe('Settings');
  });

  it('makes up every secret of a new component, and none of one that has data (R19)', () => {
    for (const id of sources.keys()) {
      const { entry, source, context } = take(id);
      const secrets = formOf(entry, context).fields.filter((field) => field.kind === 'secret');
      for (const field of secrets) {
        const variable = variablesOf(entry, source).find(({ name }) => name === field.id);
        // A value that another program or a provider creates can only be prompted for.
        const made = entry.fields.some(({ name, env, generator }) => (env ?? name) === field.id && generator !== undefined);
        expect(field.generated === true).toBe(made);
        expect(field.required).toBe(!made && variable?.mayBeEmpty !== true);
      }
      const later = formOf(entry, { ...context, hasData: true }).fields.filter((field) => field.kind === 'secret');
      for (const field of later) {
        expect(field.generated).toBeUndefined();
        const variable = variablesOf(entry, source).find(({ name }) => name === field.id);
        expect(field.required).toBe(variable?.mayBeEmpty !== true);
        if (field.required) expect(field.check?.('')).toBe('This secret is required.');
      }
    }
  });

  it('keeps secrets that are known, and takes over those of a running container', () => {
    const { entry, context } = take('rss-reader', {
      hasData: true,
      secretsKnown: { DB_PASSWORD: 'v1' },
      imported: { ADMIN_PASSWORD: 'typed-once' },
    });
    const form = formOf(entry, context);
    expect(line(form, 'DB_PASSWORD')).toMatchObject({ kept: true, required: false });
    expect(line(form, 'ADMIN_PASSWORD')).toMatchObject({ kept: true, help: expect.stringContaining('Imported from') });
    expect(answersOf(entry, context, {}).secrets).toEqual({
      DB_PASSWORD: { from: 'keep', version: 'v1' },
      ADMIN_PASSWORD: { from: 'given', value: 'typed-once' },
    });
    expect(answersOf(entry, context, { DB_PASSWORD: 'new-one' }).secrets['DB_PASSWORD']).toEqual({ from: 'given', value: 'new-one' });
  });

  it('takes a secret over that somebody wrote into .env', () => {
    const { entry, context } = take('password-vault', {
      hasData: true,
      deployment: deployment('password-vault', { ADMIN_TOKEN: 'in-the-clear' }),
    });
    expect(line(formOf(entry, context), 'ADMIN_TOKEN')).toMatchObject({ kept: true });
    expect(answersOf(entry, context, {}).secrets).toEqual({ ADMIN_TOKEN: { from: 'given', value: 'in-the-clear' } });
  });

  it('asks once for a secret that several services share (R26)', () => {
    const { entry, source } = take('idp-enterprise');
    expect(variablesOf(entry, source).find(({ name }) => name === 'KC_DB_PASSWORD')?.services).toEqual(['keycloak', 'db']);
  });

  it('offers choices where there are any, and refuses what does not fit while it is typed (R17, R18, R23)', () => {
    const vault = formOf(take('password-vault').entry, take('password-vault').context);
    expect(line(vault, 'SIGNUPS_ALLOWED')).toMatchObject({
      kind: 'choice',
      value: 'true',
      choices: [{ value: 'true' }, { value: 'false' }],
    });
    expect(line(vault, 'SIGNUPS_ALLOWED').check?.('True')).toContain('"true" or "false"');
    expect(line(vault, 'WEB_PORT').check?.('70000')).toContain('between 1 and 65535');
    expect(line(vault, 'site').check?.('not a name')).toContain('domain name');
    const keycloak = formOf(take('idp-enterprise').entry, take('idp-enterprise').context);
    expect(line(keycloak, 'KEYCLOAK_COMMAND').choices?.map(({ value }) => value)).toEqual(['start-dev', 'start']);
    const scanner = formOf(take('vulnerability-scanner').entry, take('vulnerability-scanner').context);
    expect(line(scanner, 'COMPOSE_PROFILES').choices?.map(({ value }) => value)).toEqual(['', 'nasl']);
  });

  it('has no line for widening a port that stays on loopback (R7, R8)', () => {
    const { entry, context } = take('dns-filter-second');
    const ids = formOf(entry, context).fields.map(({ id }) => id);
    expect(ids).toContain('DNS_BIND');
    expect(ids).not.toContain('WEB_BIND');
    expect(ids).not.toContain('DNS_PORT');
  });

  it('says which two values exclude each other (R21)', () => {
    const { entry, context } = take('sso-portal');
    const form = formOf(entry, context);
    const wrong = form.check({
      USERS_FILE: '/config/users.yml',
      LDAP_URL: 'ldap://d:3890',
      SESSION_DOMAIN: 'a.lan',
      PORTAL_URL: 'https://auth.a.lan',
    });
    expect(Object.keys(wrong).sort()).toEqual(['LDAP_URL', 'USERS_FILE']);
    expect(wrong['LDAP_URL']).toContain('not both');
    expect(form.check({ LDAP_URL: 'ldap://d:3890', PORTAL_URL: 'https://auth.a.lan' })).toEqual({});
  });

  it('says when two ports of it are the same, and when a site is taken', () => {
    const { entry, context } = take('password-vault', { others: [deployment('rss-reader', {}, { site: 'News.lan' })] });
    const form = formOf(entry, context);
    expect(form.check({ HUB_PORT: '8180' })).toMatchObject({ HUB_PORT: expect.stringContaining('8180') });
    expect(line(form, 'site').check?.('news.LAN')).toBe('news.LAN is already used by rss-reader.');
  });

  it('is content with a site where an address is needed', () => {
    const { entry, context } = take('idp-enterprise');
    const form = formOf(entry, context);
    expect(form.check({})).toMatchObject({ KC_HOSTNAME: expect.stringContaining('reverse proxy') });
    expect(form.check({ site: 'id.lan' })).toEqual({});
    expect(answersOf(entry, context, { site: 'id.lan' }).values['KC_HOSTNAME']).toBe('id.lan');
  });
});

describe('further names', () => {
  it('are suggested in front of the site, and are no copy of it', () => {
    const { entry, context } = take('docs-encrypted-office');
    const said = (values: Record<string, string>) => answersOf(entry, context, values).values;
    expect(said({ site: 'pad.lan' })).toMatchObject({ CPAD_MAIN_DOMAIN: 'pad.lan', CPAD_SANDBOX_DOMAIN: 'sandbox.pad.lan' });
    expect(said({ site: 'pad.lan', CPAD_SANDBOX_DOMAIN: 'box.lan' })).toMatchObject({ CPAD_SANDBOX_DOMAIN: 'box.lan' });
  });

  it('of what only the proxy knows are asked for, and not made up', () => {
    const { entry, context } = take('object-storage');
    expect(line(formOf(entry, context), 'API_NAME')).toMatchObject({ value: '', required: false });
    expect(answersOf(entry, context, { site: 'storage.lan' }).values['API_NAME'] ?? '').toBe('');
    expect(answersOf(entry, context, { site: 'storage.lan', API_NAME: 's3.lan' }).values).toMatchObject({ API_NAME: 's3.lan' });
  });
});

describe('the sign-on portal', () => {
  const portal = { id: 'sso-portal', deployed: true };
  const asked = (id: string, more: Partial<FormContext>) => {
    const { entry, context } = take(id, more);
    return formOf(entry, context).fields.find((field) => field.id === 'protect')?.value;
  };

  it('does not take the name of a private site for one that is looked for from the internet', () => {
    const { entry, context } = take('tunnel-server-ui');
    expect(answersOf(entry, context, { site: 'tunnel.example.org' }).values['WG_HOST']).toBe('tunnel.example.org');
    expect(answersOf(entry, context, { site: 'tunnel.lan' }).values['WG_HOST']).toBeUndefined();
    // The host names that it updates do not belong to it.
    const updater = take('dynamic-dns');
    expect(answersOf(updater.entry, updater.context, { site: 'ddns.example.org' }).values['DDNS_DOMAIN']).toBeUndefined();
  });

  it('is asked about wherever a reverse proxy can stand in front, and stays as it is (R36)', () => {
    expect(asked('rss-reader', { portal })).toBe('no');
    expect(asked('rss-reader', { portal, behindPortal: true })).toBe('yes');
    expect(asked('rss-reader', { portal, behindPortal: true, values: { protect: 'no' } })).toBe('no');
    expect(asked('rss-reader', {})).toBeUndefined();
    expect(asked('sso-portal', { portal })).toBeUndefined();
    expect(asked('reverse-proxy', { portal })).toBeUndefined();
  });

  it('is in the answers, from the form and from --set', () => {
    const { entry, context, source } = take('rss-reader', { portal });
    expect(answersOf(entry, context, { protect: 'yes' }).protect).toBe(true);
    expect(answersOfDeployment(entry, { ...context, behindPortal: true }).protect).toBe(true);
    expect(answersOf(entry, context, {}).protect).toBe(false);
    expect(answersOf(entry, take('rss-reader').context, { protect: 'yes' }).protect).toBeUndefined();
    expect(parseSet(['protect=yes'], entry, source)).toEqual({ protect: 'yes' });
    expect(() => parseSet(['protect=maybe'], entry, source)).toThrow('Enter yes or no.');
  });
});

describe('answersOf', () => {
  it('says only what differs from the defaults', () => {
    for (const id of sources.keys()) {
      const { entry, context } = take(id);
      expect(answersOf(entry, context, {}).values).toEqual({});
    }
  });

  it('carries a moved port and a site into the public address, unless somebody chose another (R31, R89)', () => {
    const { entry, context } = take('rss-reader');
    const url = (filled: Record<string, string>, more: FormContext = context) => answersOf(entry, more, filled).values['BASE_URL'];
    expect(url({ WEB_PORT: '18090' })).toBe('http://localhost:18090');
    expect(url({ WEB_PORT: '18090', site: 'news.lan' })).toBe('https://news.lan');
    expect(url({ WEB_PORT: '18090', BASE_URL: 'https://elsewhere.example' })).toBe('https://elsewhere.example');
    const moved = { ...context, deployment: deployment('rss-reader', { WEB_PORT: '18090', BASE_URL: 'http://localhost:18090' }) };
    expect(url({ WEB_PORT: '28090' }, moved)).toBe('http://localhost:28090');
    const sited = { ...context, deployment: deployment('rss-reader', { BASE_URL: 'https://news.lan' }, { site: 'news.lan' }) };
    expect(url({ site: '' }, sited)).toBeUndefined();
    const chosen = { ...context, deployment: deployment('rss-reader', { BASE_URL: 'https://mine.example' }) };
    expect(url({ WEB_PORT: '28090' }, chosen)).toBe('https://mine.example');
  });

  it('repeats what is deployed when nothing is asked', () => {
    const { entry, context } = take('file-sync', {
      deployment: deployment(
        'file-sync',
        { TZ: 'Europe/Berlin', SYNC_BIND: '192.168.1.2', WEB_BIND: '0.0.0.0', UNKNOWN: 'x' },
        { site: 'sync.lan' },
      ),
    });
    expect(answersOfDeployment(entry, context)).toEqual({
      values: { TZ: 'Europe/Berlin', SYNC_BIND: '192.168.1.2', WEB_BIND: '0.0.0.0' },
      secrets: {},
      site: 'sync.lan',
    });
  });
});

describe('parseSet', () => {
  const fault = (id: string, word: string) => {
    const { entry, source } = take(id);
    try {
      return parseSet([word], entry, source);
    } catch (thrown) {
      if (thrown instanceof Fault) return { code: thrown.code, message: thrown.message, remedy: thrown.remedy };
      throw thrown;
    }
  };

  it('takes variables, names of fields and the site', () => {
    const { entry, source } = take('sso-portal');
    expect(
      parseSet(
        ['SESSION_DOMAIN=a.lan', 'session.redis.host=cache', 'site=Auth.a.lan', 'LDAP_USERS_FILTER=(&(uid={input})(a=b))'],
        entry,
        source,
      ),
    ).toEqual({
      SESSION_DOMAIN: 'a.lan',
      REDIS_HOST: 'cache',
      site: 'auth.a.lan',
      LDAP_USERS_FILTER: '(&(uid={input})(a=b))',
    });
  });

  it.each([
    ['password-vault', 'SIGNUP_ALLOWED=true', 'usage.set', 'Did you mean "SIGNUPS_ALLOWED"?'],
    ['password-vault', 'SIGNUPS_ALLOWED=yes', 'usage.set', 'Required format: true or false'],
    ['password-vault', 'WEB_PORT=http', 'usage.set', 'another value'],
    ['password-vault', 'WEB_PORT', 'usage.set', '--set'],
    ['password-vault', '=x', 'usage.set', '--set'],
    ['password-vault', 'ADMIN_TOKEN=hunter2hunter2', 'usage.secretOnCommandLine', 'secrets set password-vault ADMIN_TOKEN'],
    ['password-vault', 'WEB_BIND=0.0.0.0', 'refused.exposure', 'site=NAME'],
    ['dns-filter-second', 'DNS_PORT=5353', 'refused.port', 'separate address'],
    ['sso-portal', 'storage.postgres=db', 'usage.set', 'quarterdeck edit sso-portal'],
    ['reverse-proxy', 'site=a.lan', 'usage.set', ''],
  ])('%s refuses %s: %s', (id, word, code, remedy) => {
    expect(fault(id, word)).toMatchObject({ code, remedy: expect.stringContaining(remedy) });
  });

  it('never repeats a secret, and never fails but with a sentence', () => {
    expect(JSON.stringify(fault('password-vault', 'ADMIN_TOKEN=hunter2hunter2'))).not.toContain('hunter2');
    const { entry, source } = take('rss-reader');
    const names = fc.constantFrom('WEB_PORT', 'BASE_URL', 'site', 'admin user', 'DB_PASSWORD', 'nothing', '');
    fc.assert(
      fc.property(names, fc.string({ unit: anyCharacter, maxLength: 12 }), (name, value) => {
        try {
          const set = parseSet([`${name}=${value}`], entry, source);
          expect(Object.keys(set)).toHaveLength(1);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Fault);
        }
      }),
    );
  });

  it('gives values with equals signs, spaces and dollars to the letter', () => {
    const { entry, source } = take('idp-enterprise');
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '=', ' ', '#', '$', '"'), minLength: 1, maxLength: 10 }), (value) => {
        expect(parseSet([`KEYCLOAK_ADMIN=${value}`], entry, source)).toEqual({ KEYCLOAK_ADMIN: value });
      }),
    );
  });
});
