import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { ContainerFacts } from '../../engine/engine.ts';
import type { Review } from '../../session/session.ts';
import { type ComponentSource, readComponentSource } from '../component-source.ts';
import type { Deployment, DeployRecord, Plan, PlannedService } from '../model.ts';
import { hashOf } from '../read-deployment.ts';
import { answersOf } from './answers.ts';
import { secretFilesOf } from './compose-editor.ts';
import { readEnv } from './env-file.ts';
import type { FormContext } from './form.ts';
import { isEmpty, type PlanRequest, planDeploy, planRemove } from './plan.ts';
import { diffLines, planJson, reviewOf, summaryOf } from './plan-text.ts';

const entries = new Map<string, CatalogEntry>();
const sources = new Map<string, ComponentSource>();

beforeAll(async () => {
  for (const entry of (await wholeCatalog()).entries) {
    entries.set(entry.id, entry);
    if (entry.deploy === 'compose') sources.set(entry.id, await readComponentSource(entry, join(process.cwd(), 'catalog')));
  }
});

const secretsKnown = { ADMIN_TOKEN: 'v1', DB_PASSWORD: 'v1', ADMIN_PASSWORD: 'v1', LITELLM_MASTER_KEY: 'v1', LITELLM_SALT_KEY: 'v1' };

function request(id: string, deployment?: Deployment, filled: Record<string, string> = {}, more: Partial<PlanRequest> = {}): PlanRequest {
  const entry = entries.get(id);
  const source = sources.get(id);
  if (!entry || !source) throw new Error(`${id} did not compile`);
  const context: FormContext = {
    source,
    others: [],
    secretsKnown: deployment ? secretsKnown : {},
    hasData: deployment !== undefined,
    runtime: 'docker',
    ...(deployment && { deployment }),
  };
  return {
    kind: deployment ? 'change' : 'deploy',
    entry,
    source,
    answers: answersOf(entry, context, filled),
    deployment,
    engineName: 'nas',
    stackFolder: '/s',
    runtime: 'docker',
    tool: { kind: 'docker-compose' },
    networks: [],
    networksThere: new Set(),
    containers: deployment ? containersOf(entry) : [],
    images: new Map(
      entry.services.map(({ name, image }) => [image, { id: `sha256:${name}`, digest: `${image.split(':')[0]}@sha256:${name}` }]),
    ),
    ...more,
  };
}

function containersOf(entry: CatalogEntry): ContainerFacts[] {
  return entry.services
    .filter((service) => !service.optional)
    .map(({ name, image }) => ({
      id: name,
      name: `${entry.id}-${name}-1`,
      image,
      imageId: `sha256:${lastOf(entry, image)}`,
      createdMs: 0,
      state: 'running' as const,
      health: 'none' as const,
      statusText: '',
      ports: [],
      labels: {
        'com.docker.compose.project': entry.id,
        'com.docker.compose.service': name,
        'com.docker.compose.project.working_dir': `/s/${entry.id}`,
      },
      networkMode: '',
      networkAddresses: [],
    }));
}

const lastOf = (entry: CatalogEntry, image: string) => entry.services.filter((service) => service.image === image).at(-1)?.name;

/** Returns the deployment that a plan creates. */
function applied(plan: Plan, before?: Deployment): Deployment {
  const record: DeployRecord = {
    schema: 1,
    component: plan.component,
    run: 'r',
    at: '',
    by: '',
    files: {},
    secrets: secretsKnown,
    images: {},
    ...(plan.site && { site: plan.site }),
  };
  const hashes: Record<string, string> = {};
  let compose = before?.compose ?? '';
  let envText = before?.envText ?? '';
  const files: Record<string, string> = { ...before?.files };
  for (const { path, after = '' } of plan.files) {
    hashes[path] = hashOf(after);
    const inner = path.slice(plan.component.length + 1);
    if (inner === 'compose.yaml') compose = after;
    else if (inner === '.env') envText = after;
    else files[inner] = after;
  }
  const edited = plan.files.flatMap((file) => (file.edited ? [file.path] : []));
  return {
    component: plan.component,
    folder: `/s/${plan.component}`,
    compose,
    envText,
    env: readEnv(envText).values,
    files,
    record: { ...record, files: hashes, ...(edited.length > 0 && { edited }) },
  };
}

const changes = (plan: Plan) => Object.fromEntries(plan.services.map(({ name, change }) => [name, change]));
const why = (plan: Plan, name: string) => plan.services.find((service) => service.name === name)?.why;

describe('planDeploy', () => {
  it('makes everything of a new component, and has nothing to do afterwards', () => {
    for (const id of ['password-vault', 'rss-reader', 'llm-proxy', 'file-sync', 'reverse-proxy', 'secrets-manager-path']) {
      const first = planDeploy(request(id));
      expect(isEmpty(first)).toBe(false);
      expect(Object.values(changes(first)).every((change) => change === 'create')).toBe(true);
      expect(first.files.every(({ before }) => before === undefined)).toBe(true);
      expect(first.secrets.every(({ what }) => what === 'generate' || what === 'none')).toBe(true);
      const again = planDeploy(request(id, applied(first)));
      expect(again.services.filter(({ change }) => change !== 'keep')).toEqual([]);
      expect(isEmpty(again)).toBe(true);
    }
  });

  it('names ports, volumes and secrets of what it makes (R87)', () => {
    const plan = planDeploy(request('rss-reader', undefined, { WEB_PORT: '18090', site: 'news.lan' }));
    expect(plan.ports).toEqual([
      { service: 'reader', name: 'web', address: '127.0.0.1', host: 18090, container: 8080, protocol: 'tcp', fixed: false },
    ]);
    expect(plan.volumes).toEqual(['rss-reader_db']);
    expect(plan.secrets.map(({ variable }) => variable)).toEqual(['DB_PASSWORD', 'ADMIN_PASSWORD']);
    expect(plan.site).toBe('news.lan');
    expect(plan.files.find(({ path }) => path === 'rss-reader/.env')).toMatchObject({
      mode: 0o600,
      after: expect.stringContaining('BASE_URL=https://news.lan\nWEB_PORT=18090\n') as string,
    });
  });

  it('makes only those services again that a value reaches', () => {
    const existing = applied(planDeploy(request('rss-reader')));
    const plan = planDeploy(request('rss-reader', existing, { WEB_PORT: '18090' }));
    expect(changes(plan)).toEqual({ reader: 'recreate', db: 'keep' });
    expect(why(plan, 'reader')).toBe('changed: ports, environment');
  });

  it('makes those again whose secret changes', () => {
    const existing = applied(planDeploy(request('rss-reader')));
    const plan = planDeploy(request('rss-reader', existing, {}, { rotated: new Set(['ADMIN_PASSWORD']) }));
    expect(changes(plan)).toEqual({ reader: 'recreate', db: 'keep' });
    expect(why(plan, 'reader')).toBe('its secret admin password changes');
    expect(changes(planDeploy(request('rss-reader', existing, { DB_PASSWORD: 'x'.repeat(32) })))).toEqual({
      reader: 'recreate',
      db: 'recreate',
    });
  });

  it('knows those too whose secrets podman-compose takes from a file beside the compose file', () => {
    const podman: Partial<PlanRequest> = { runtime: 'podman', tool: { kind: 'podman-compose' } as PlanRequest['tool'] };
    const existing = applied(planDeploy(request('llm-proxy', undefined, {}, podman)));
    expect(changes(planDeploy(request('llm-proxy', existing, {}, podman)))).toEqual({ litellm: 'keep', db: 'keep' });
    const plan = planDeploy(request('llm-proxy', existing, {}, { ...podman, rotated: new Set(['DB_PASSWORD']) }));
    expect(changes(plan)).toEqual({ litellm: 'recreate', db: 'recreate' });
    const key = planDeploy(request('llm-proxy', existing, {}, { ...podman, rotated: new Set(['LITELLM_MASTER_KEY']) }));
    expect(changes(key)).toEqual({ litellm: 'recreate', db: 'keep' });
  });

  it('restarts what reads a changed file, since compose does not', () => {
    const existing = applied(planDeploy(request('llm-proxy')));
    const text = existing.files['files/config.yaml'] ?? '';
    const plan = planDeploy(request('llm-proxy', existing, {}, { edited: { 'files/config.yaml': `${text}# mine\n` } }));
    expect(changes(plan)).toEqual({ litellm: 'restart', db: 'keep' });
    expect(plan.files.find(({ path }) => path === 'llm-proxy/files/config.yaml')).toMatchObject({ edited: true, touched: false });
  });

  it('keeps what was changed by hand, says so, and gives it up only when asked to', () => {
    const fresh = applied(planDeploy(request('llm-proxy')));
    const existing: Deployment = {
      ...fresh,
      compose: fresh.compose.replace('restart: unless-stopped', 'restart: unless-stopped\n    mem_limit: 1g'),
      files: { 'files/config.yaml': 'mine: true\n', 'files/notes.txt': 'not ours' },
    };
    const networks = [{ name: 'quarterdeck-model-runtime', services: [{ service: 'litellm', aliases: [] }] }];
    const plan = planDeploy(request('llm-proxy', existing, {}, { networks }));
    const compose = plan.files.find(({ path }) => path.endsWith('compose.yaml'));
    expect(compose).toMatchObject({ touched: true, edited: true });
    expect(compose?.after).toContain('mem_limit: 1g');
    expect(compose?.after).toContain('quarterdeck-model-runtime');
    expect(plan.files.find(({ path }) => path.endsWith('config.yaml'))).toMatchObject({
      before: 'mine: true\n',
      after: 'mine: true\n',
      touched: true,
    });
    expect(plan.files.some(({ path }) => path.endsWith('notes.txt'))).toBe(false);
    expect(plan.notes).toEqual([
      'llm-proxy/compose.yaml was edited by hand. Only the required lines are changed.',
      'llm-proxy/files/config.yaml was edited by hand. The edits are kept.',
    ]);
    // A kept file stays the operator's: the next plan must not treat it as ours because it is in the record.
    const later = planDeploy(
      request('llm-proxy', applied(plan, existing), {}, { networks, networksThere: new Set(['quarterdeck-model-runtime']) }),
    );
    expect(isEmpty(later)).toBe(true);
    // A network that is in the operator's file for another reason is created if it is missing.
    const own = { ...existing, compose: `${existing.compose}networks:\n  quarterdeck-other: {external: true}\n` };
    expect(planDeploy(request('llm-proxy', own)).networks).toEqual([{ name: 'quarterdeck-other', exists: false }]);
    const given = planDeploy(request('llm-proxy', existing, {}, { fresh: true }));
    expect(given.files.find(({ path }) => path.endsWith('compose.yaml'))?.after).toBe(fresh.compose);
    expect(given.notes[0]).toContain('discarded');
  });

  it('updates to a newer image, and goes back to the old one by its digest (R82)', () => {
    const existing = applied(planDeploy(request('rss-reader')));
    const update = planDeploy(request('rss-reader', existing, {}, { kind: 'update', newer: new Set(['reader']) }));
    expect(changes(update)).toEqual({ reader: 'recreate', db: 'keep' });
    const pin = `miniflux/miniflux@sha256:${'b'.repeat(64)}`;
    const back = planDeploy(request('rss-reader', existing, {}, { kind: 'rollback', pins: { reader: pin } }));
    expect(changes(back)).toEqual({ reader: 'recreate', db: 'keep' });
    expect(why(back, 'reader')).toBe('its image changes');
    const pinned = applied(back);
    const change = planDeploy(request('rss-reader', pinned, { WEB_PORT: '18090' }));
    expect(change.files[0]?.after).toContain(pin);
    expect(planDeploy(request('rss-reader', pinned, {}, { kind: 'update' })).files[0]?.after).toBe(existing.compose);
  });

  it('sees that a tag means another image by now', () => {
    const existing = applied(planDeploy(request('password-vault')));
    const images = new Map([['vaultwarden/server:latest', { id: 'sha256:other' }]]);
    expect(why(planDeploy(request('password-vault', existing, {}, { images })), 'vault')).toBe('vaultwarden/server:latest has changed');
  });

  it('starts and takes away services of a profile', () => {
    const existing = applied(planDeploy(request('sso-portal', undefined, { SESSION_DOMAIN: 'a.lan', site: 'auth.a.lan' })));
    const known = { JWT_SECRET: 'v', SESSION_SECRET: 'v', STORAGE_ENCRYPTION_KEY: 'v', STORAGE_POSTGRES_PASSWORD: 'v' };
    const base = request('sso-portal', existing);
    const context: FormContext = {
      source: base.source,
      others: [],
      secretsKnown: known,
      hasData: true,
      runtime: 'docker',
      deployment: existing,
    };
    const plan = planDeploy({
      ...base,
      answers: answersOf(base.entry, context, { COMPOSE_PROFILES: 'postgres', STORAGE_POSTGRES_HOST: 'db' }),
    });
    expect(changes(plan)).toEqual({ portal: 'recreate', redis: 'keep', db: 'create' });
  });

  it('takes away and brings back services of a profile in a file that was changed by hand, for podman-compose too', () => {
    const known = Object.fromEntries(
      ['JWT_SECRET', 'SESSION_SECRET', 'STORAGE_ENCRYPTION_KEY', 'STORAGE_POSTGRES_PASSWORD'].map((name) => [name, 'v']),
    );
    const on = { COMPOSE_PROFILES: 'postgres', STORAGE_POSTGRES_HOST: 'db' };
    const off = { COMPOSE_PROFILES: '', STORAGE_POSTGRES_HOST: '' };
    const planned = (values: Record<string, string>, deployment?: Deployment, containers: readonly ContainerFacts[] = []) => {
      const base = request('sso-portal', deployment, {}, { runtime: 'podman', tool: { kind: 'podman-compose' }, containers });
      const context: FormContext = {
        source: base.source,
        others: [],
        secretsKnown: known,
        hasData: true,
        runtime: 'podman',
        ...(deployment && { deployment }),
      };
      return planDeploy({ ...base, answers: answersOf(base.entry, context, { SESSION_DOMAIN: 'a.lan', site: 'auth.a.lan', ...values }) });
    };
    const all = containersOf(request('sso-portal').entry);
    const db = { ...all[0], id: 'db', labels: { ...all[0]?.labels, 'com.docker.compose.service': 'db' } } as ContainerFacts;
    const first = applied(planned(on));
    const byHand: Deployment = { ...first, compose: first.compose.replace('postgres:16-alpine', 'postgres:16.4-alpine') };

    const away = planned(off, byHand, [...all, db]);
    expect(changes(away)).toMatchObject({ db: 'remove', redis: 'keep' });
    const without = applied(away, byHand);
    const { services } = parse(without.compose) as { services: object };
    expect(Object.keys(services)).toEqual(['portal', 'redis']);
    expect(Object.keys(secretFilesOf(without.compose))).toEqual(['portal']);
    // Variables in the stored services are not interpolated.
    expect(without.compose.split('x-quarterdeck-profiles')[1]).not.toMatch(/(?<!\$)(?:\$\$)*\$\{/);

    const back = planned(on, without, all);
    expect(changes(back)).toMatchObject({ db: 'create' });
    const again = applied(back, without);
    expect(again.compose).toContain('postgres:16.4-alpine');
    expect(parse(again.compose)).toEqual(parse(byHand.compose));
    expect(isEmpty(planned(on, again, [...all, db]))).toBe(true);
  });

  it('says whose containers it would make again', () => {
    const existing = applied(planDeploy(request('password-vault')));
    const containers = [
      {
        ...containersOf(request('password-vault').entry)[0],
        labels: {
          'com.docker.compose.project': 'password-vault',
          'com.docker.compose.service': 'vault',
          'com.docker.compose.project.working_dir': '/srv/vault',
        },
      },
    ] as ContainerFacts[];
    expect(planDeploy(request('password-vault', existing, {}, { containers })).notes).toEqual([expect.stringContaining('/srv/vault')]);
  });

  it('says that a secret which goes from a file in clear stays in the copy that takes the change back', () => {
    const existing = applied(planDeploy(request('password-vault')));
    const clear: Deployment = {
      ...existing,
      record: undefined,
      compose: existing.compose.replace(/\$\{ADMIN_TOKEN:?[^}]*\}/, 'hunter2hunter2'),
    };
    expect(clear.compose).toContain('hunter2hunter2');
    const plan = planDeploy(request('password-vault', clear, {}, { fresh: true }));
    expect(plan.files[0]?.after).not.toContain('hunter2');
    expect(plan.notes.join()).toContain('password-vault/compose.yaml contains what looks like a plaintext secret');
    expect(plan.notes.join()).not.toContain('hunter2');
    expect(planDeploy(request('password-vault', existing, { WEB_PORT: '8181' })).notes).toEqual([]);
  });

  it('is made quickly for the largest component too', () => {
    const existing = applied(planDeploy(request('vulnerability-scanner')));
    // The limit is 300 ms on a quiet machine; this test only detects code that became many times slower.
    const started = performance.now();
    planDeploy(request('vulnerability-scanner', existing));
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('planRemove', () => {
  it('deletes what we wrote, and nothing that anybody changed or added', () => {
    const fresh = applied(planDeploy(request('llm-proxy')));
    const deployment: Deployment = { ...fresh, files: { 'files/config.yaml': 'mine\n', 'files/extra.txt': 'x' } };
    const plan = planRemove({
      entry: { id: 'llm-proxy' },
      deployment,
      engineName: 'nas',
      stackFolder: '/s',
      containers: containersOf(request('llm-proxy').entry),
    });
    expect(plan.files.map(({ path, after }) => [path, after])).toEqual([['llm-proxy/compose.yaml', undefined]]);
    expect(plan.notes).toEqual([
      'llm-proxy/files/config.yaml is kept, because it was changed by hand.',
      'llm-proxy/files/extra.txt is kept, because Quarterdeck did not write it.',
      'Volumes and their data are kept.',
    ]);
    expect(changes(plan)).toEqual({ litellm: 'remove', db: 'remove' });
  });

  it('keeps a file that was made with edit', () => {
    const existing = applied(planDeploy(request('llm-proxy')));
    const edited = applied(planDeploy(request('llm-proxy', existing, {}, { edited: { 'files/config.yaml': 'mine\n' } })), existing);
    const plan = planRemove({ entry: { id: 'llm-proxy' }, deployment: edited, engineName: 'nas', stackFolder: '/s', containers: [] });
    expect(plan.notes[0]).toBe('llm-proxy/files/config.yaml is kept, because it was changed by hand.');
  });
});

describe('reviewOf', () => {
  it('shows what happens, then each changed file as a diff, and cannot be applied while something blocks', () => {
    const existing = applied(planDeploy(request('rss-reader')));
    const plan = planDeploy(request('rss-reader', existing, { WEB_PORT: '18090' }));
    const review: Review = reviewOf(plan, [
      {
        id: 'port-taken:web',
        level: 'blocking',
        message: 'm',
        advice: 'a',
        rule: 'R88',
        remedy: { kind: 'set', label: 'use 28090', values: {} },
      },
    ]);
    expect(review.title).toBe('Change rss-reader on nas');
    expect(review.sections.map(({ title }) => title)).toEqual([
      'Services',
      'Ports',
      'Secrets',
      'Networks and volumes',
      'Unchanged files',
      'rss-reader/.env: new',
    ]);
    expect(review.sections.at(-1)?.lines).toEqual(
      expect.arrayContaining([
        { mark: 'added', text: 'WEB_PORT=18090' },
        { mark: 'added', text: 'BASE_URL=http://localhost:18090' },
      ]),
    );
    expect(review.actions[0]).toEqual({ id: 'apply', label: 'Change', blocked: review.findings[0]?.message });
    expect(review.findings[0]?.remedy).toBe('use 28090');
    expect(reviewOf(plan, []).actions[0]?.blocked).toBeUndefined();
    const foreign = { id: 'project:rss', level: 'blocking' as const, message: 'It is of others.', advice: 'Leave it.' };
    expect(reviewOf({ ...plan, kind: 'change' }, [foreign]).title).toBe(`Deploy ${plan.component} on ${plan.engineName}`);
    expect(reviewOf({ ...plan, kind: 'change' }, []).title).toBe(`Change ${plan.component} on ${plan.engineName}`);
    // `patch` refuses a new file whose range begins at line 1.
    expect(review.sections.at(-1)?.lines[0]?.text).toMatch(/^@@ -0,0 \+1,/);
  });

  it('says all of it in one sentence, services of one component by their names, several components by theirs', () => {
    const plan = { ...planDeploy(request('rss-reader')), after: [] };
    const services = (...changed: [name: string, change: PlannedService['change'], present: boolean][]) =>
      changed.map(([name, change, present]) => ({ name, change, present, image: `${name}:1`, why: 'w' }));
    const both = {
      ...plan,
      component: 'chat',
      files: [{ path: 'a', before: 'x', after: undefined, touched: false }],
      secrets: [],
      services: services(['web', 'recreate', false], ['db', 'recreate', true], ['worker', 'restart', true]),
    } as unknown as Plan;
    expect(summaryOf([both])).toBe('Deletes 1 file, pulls 1 image, recreates web, db, restarts worker.');
    expect(summaryOf([both, { ...both, component: 'notes' }])).toBe(
      'Deletes 2 files, pulls 1 image, recreates chat, notes, restarts chat, notes.',
    );
    expect(summaryOf([{ ...both, files: [], services: [] }])).toBe('No changes.');
    expect(summaryOf([{ ...both, after: [{ component: 'reverse-proxy', service: 'caddy', argv: [], why: '' }] }])).toContain(
      ', reloads reverse-proxy.',
    );
  });

  it('hides what could be a secret in a file, and shows what is none', () => {
    const text = (before: string, after: string) =>
      diffLines({ path: 'x', before, after })
        .map((line) => line.text)
        .join('\n');
    const shown = text(
      'ADMIN_TOKEN=hunter2hunter2\n',
      'password: "s3cr3t"\nurl: postgres://u:p4ss@db/x\nkey_path: /etc/key\napi_key: os.environ/KEY\nADMIN_TOKEN: "${ADMIN_TOKEN:?kept}"\nport: 80\n',
    );
    for (const hidden of ['hunter2', 's3cr3t', 'p4ss']) expect(shown).not.toContain(hidden);
    for (const seen of ['/etc/key', 'os.environ/KEY', '${ADMIN_TOKEN:?kept}', 'port: 80', '@db/x']) expect(shown).toContain(seen);
  });

  it('is told as JSON without the texts of files', () => {
    const plan = planDeploy(request('password-vault'));
    const json = planJson(plan, [], isEmpty(plan));
    // Texts that a session knows to be secret are masked, whatever their name is.
    const [first] = json['files'] as { diff: string }[];
    const word = /\w{8,}/.exec(first?.diff ?? '')?.[0] ?? '';
    expect(word).not.toBe('');
    const hidden = planJson(plan, [], isEmpty(plan), (text) => text.replaceAll(word, '(secret)'));
    expect((hidden['files'] as { diff: string }[]).map(({ diff }) => diff).join()).not.toContain(word);
    expect(json).toMatchObject({
      schema: 1,
      kind: 'deploy',
      component: 'password-vault',
      folder: '/s/password-vault',
      empty: false,
      site: '',
    });
    expect(JSON.stringify(json)).not.toContain('"after"');
  });
});
