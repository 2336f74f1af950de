import { describe, expect, it } from 'vitest';
import { catalogEntry } from '../../../test/doubles/container-facts.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { catalogOf } from '../../catalog/open-catalog.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import type { Deployment } from '../model.ts';
import { consumerProposals, hostOf, missingProviders, networksOf, providedAddress, usedAddresses } from './networks.ts';

const { entries } = await wholeCatalog();
const catalog = catalogOf(entries, []);
const entry = (id: string): CatalogEntry => catalog.get(id) ?? expect.fail(`no ${id}`);

function deployment(component: string, more: Partial<Deployment> = {}): Deployment {
  return { component, folder: `/srv/stack/${component}`, compose: '', envText: '', env: {}, files: {}, record: undefined, ...more };
}

describe('networks of the catalog', () => {
  it('a provider joins its own network under its id, whoever uses it (R14)', () => {
    expect(networksOf(entry('model-runtime'), {}, catalog)).toEqual([
      { name: 'quarterdeck-model-runtime', services: [{ service: 'ollama', aliases: ['model-runtime'] }] },
    ]);
    expect(networksOf(entry('ldap-directory'), {}, catalog)).toEqual([
      { name: 'quarterdeck-ldap-directory', services: [{ service: 'lldap', aliases: ['ldap-directory'] }] },
    ]);
  });

  it('a consumer joins while its field names the provider, and its database does not', () => {
    const joined = [{ name: 'quarterdeck-model-runtime', services: [{ service: 'litellm', aliases: [] }] }];
    expect(networksOf(entry('llm-proxy'), {}, catalog)).toEqual(joined);
    expect(networksOf(entry('llm-proxy'), { MODEL_RUNTIME_URL: 'http://MODEL-runtime:11434/v1' }, catalog)).toEqual(joined);
    expect(networksOf(entry('llm-proxy'), { MODEL_RUNTIME_URL: 'http://192.168.1.9:11434' }, catalog)).toEqual([]);
    expect(networksOf(entry('sso-portal'), {}, catalog)).toEqual([]);
    expect(networksOf(entry('sso-portal'), { LDAP_URL: 'ldap://ldap-directory:3890' }, catalog)).toEqual([
      { name: 'quarterdeck-ldap-directory', services: [{ service: 'portal', aliases: [] }] },
    ]);
  });

  it('who neither gives to others nor takes from them shares none', () => {
    const sharing = entries.filter((one) => networksOf(one, {}, catalog).length > 0);
    expect(sharing.map(({ id }) => id)).toEqual(expect.arrayContaining(['ldap-directory', 'llm-proxy', 'model-runtime']));
    expect(sharing.filter(({ provides, uses }) => !provides && !uses).map(({ id }) => id)).toEqual([]);
    expect(entries.filter(({ provides }) => provides).filter((one) => !sharing.includes(one))).toEqual([]);
  });

  it('suggests the address inside, which no remap changes, for what is deployed (R89)', () => {
    expect(usedAddresses(entry('llm-proxy'), catalog, ['model-runtime'])).toEqual({ MODEL_RUNTIME_URL: 'http://model-runtime:11434' });
    expect(usedAddresses(entry('llm-proxy'), catalog, [])).toEqual({});
  });

  it('does not choose between a users file and a directory for the operator (R21)', () => {
    expect(usedAddresses(entry('sso-portal'), catalog, ['ldap-directory'])).toEqual({});
  });

  it('what is typed in a page of its own is joined in any case, suggested nowhere, and missed by nobody', () => {
    expect(networksOf(entry('subtitle-automation'), {}, catalog)).toEqual([
      { name: 'quarterdeck-movie-automation', services: [{ service: 'bazarr', aliases: [] }] },
      { name: 'quarterdeck-tv-automation', services: [{ service: 'bazarr', aliases: [] }] },
    ]);
    expect(usedAddresses(entry('subtitle-automation'), catalog, ['movie-automation'])).toEqual({});
    expect(missingProviders(entry('subtitle-automation'), {}, [])).toEqual([]);
  });

  it('each address that a setup task of the media chain names is one that it is given, at the port inside', () => {
    const named = entries.flatMap((one) =>
      one.chain.length === 0
        ? []
        : (one.uses ?? []).flatMap(({ component, what, field }) =>
            field === undefined ? [{ one, component, address: providedAddress(entry(component), what) ?? '' }] : [],
          ),
    );
    expect(named.length).toBeGreaterThan(15);
    const said = (one: CatalogEntry) => one.firstRun.map(({ detail = '' }) => detail).join(' ');
    for (const { one, component, address } of named.filter(({ one, component }) => said(one).includes(component))) {
      const port = address.slice(address.lastIndexOf(':') + 1);
      expect(said(one), one.id).toMatch(new RegExp(`\\b${component}(:| |, port | and port )${port}\\b`));
    }
    // Their manager registers the indexers with the automations, using its own address.
    const silent = named.filter(({ one, component }) => !said(one).includes(component)).map(({ component }) => component);
    expect([...new Set(silent)]).toEqual(['indexer-manager']);
    expect(said(entry('indexer-manager'))).toContain(providedAddress(entry('indexer-manager'), 'api'));
  });

  it('names a provider that is missing', () => {
    expect(missingProviders(entry('llm-proxy'), {}, ['llm-proxy'])).toEqual([
      { component: 'model-runtime', address: 'http://model-runtime:11434' },
    ]);
    expect(missingProviders(entry('llm-proxy'), {}, ['model-runtime'])).toEqual([]);
    expect(missingProviders(entry('llm-proxy'), { MODEL_RUNTIME_URL: 'http://gpu.lan:11434' }, [])).toEqual([]);
  });
});

describe('once a provider is deployed', () => {
  const of = (...deployments: Deployment[]) => consumerProposals(entry('model-runtime'), deployments, catalog);

  it('a consumer that was there first joins its network', () => {
    expect(of(deployment('llm-proxy', { compose: 'services: {}' }))).toEqual([
      {
        component: 'llm-proxy',
        values: {},
        why: 'llm-proxy connects to http://model-runtime:11434, but does not share a network with model-runtime yet.',
      },
    ]);
    expect(of(deployment('llm-proxy', { compose: 'networks: {quarterdeck-model-runtime: {external: true}}' }))).toEqual([]);
  });

  it('one that was deployed before it could join is made to, once', () => {
    const client = (compose: string) => consumerProposals(entry('torrent-client'), [deployment('tv-automation', { compose })], catalog);
    const [proposal] = client('services: {}');
    expect(proposal).toEqual({
      component: 'tv-automation',
      values: {},
      why: 'tv-automation can use torrent-client, but does not share a network with torrent-client yet.',
    });
    expect(client('networks: {quarterdeck-torrent-client-second: {external: true}}')).toHaveLength(1);
    expect(client('networks: {quarterdeck-torrent-client: {external: true}}')).toEqual([]);
  });

  it('one that looks for it on localhost is offered the name (R14)', () => {
    const [proposal] = of(deployment('llm-proxy', { env: { MODEL_RUNTIME_URL: 'http://localhost:11434' } }));
    expect(proposal?.values).toEqual({ MODEL_RUNTIME_URL: 'http://model-runtime:11434' });
    expect(proposal?.why).toContain('the container itself');
  });

  it('one that uses another machine is left alone, and so is who has nothing to do with it', () => {
    expect(of(deployment('llm-proxy', { env: { MODEL_RUNTIME_URL: 'http://gpu.lan:11434' } }), deployment('password-vault'))).toEqual([]);
  });

  it('a portal without a directory is offered it, by name', () => {
    expect(consumerProposals(entry('ldap-directory'), [deployment('sso-portal')], catalog)).toEqual([
      {
        component: 'sso-portal',
        values: { LDAP_URL: 'ldap://ldap-directory:3890' },
        why: 'sso-portal can use ldap-directory, but LDAP_URL is not set.',
      },
    ]);
  });
});

describe('several uses of one provider', () => {
  it('become one network with each service once', () => {
    const provider = catalogEntry('store', { app: { image: 'store', main: true } }, { provides: { api: { port: 'api', scheme: 'http' } } });
    const field = (name: string): ComponentField => ({
      name,
      type: 'url',
      target: 'environment',
      secret: false,
      required: false,
      excludes: [],
    });
    const consumer = catalogEntry(
      'user',
      { app: { image: 'user', main: true }, worker: { image: 'user' } },
      {
        fields: [field('A_URL'), field('B_URL')],
        uses: [
          { component: 'store', what: 'api', field: 'A_URL' },
          { component: 'store', what: 'api', field: 'B_URL', services: ['app', 'worker'] },
        ],
      },
    );
    const values = { A_URL: 'http://store:1', B_URL: 'http://store:1' };
    expect(networksOf(consumer, values, catalogOf([provider, consumer], []))).toEqual([
      {
        name: 'quarterdeck-store',
        services: [
          { service: 'app', aliases: [] },
          { service: 'worker', aliases: [] },
        ],
      },
    ]);
  });
});

describe('hostOf', () => {
  it.each([
    ['http://model-runtime:11434/v1', 'model-runtime'],
    ['ldap://me@directory', 'directory'],
    ['jdbc:postgresql://db:5432/x', 'db'],
    ['db:80', 'db'],
    ['http://[::1]:80', '::1'],
    ['postgres://a:b@c@db/x?y', 'db'],
    ['', ''],
  ])('%s', (address, expected) => expect(hostOf(address)).toBe(expected));
});
