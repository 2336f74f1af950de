import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tracesInTurn } from '../../test/doubles/break-offs.ts';
import { answering, onPractice, type PracticeTry } from '../../test/doubles/practice-ground.ts';
import { PracticeStage } from '../../test/doubles/practice-stage.ts';
import { makeKeyPair } from '../products/wireguard/wireguard-keys.ts';
import { flows } from './registry.ts';

/*
 * Every flow of the registry stands in one of these lists: its secrets are searched for here, or in another file, or it is said why it has none to search for.
 */

const typed = 'typed-by-somebody-4711';
const passphrase = 'a long passphrase of mine';
const vault = 'secrets-manager-path';
const portal = 'sso-portal';
const mesh = 'mesh-control-server';
let stage: PracticeStage;

interface Case extends Omit<PracticeTry, 'operator'> {
  about?: string;
  answers?: (stage: PracticeStage) => Parameters<typeof answering>[0];
  /** How many secrets it handles at least. */
  secrets: number;
  /** At so many acts it crashes; at all of them where nothing is said. What applies plans takes seconds for each. */
  crashes?: number;
  file?: string;
  /** What is typed into forms. */
  forms?: () => Record<string, Record<string, string>>;
}

const ofVault = (more: Partial<Case> = {}): Case => ({
  about: vault,
  answers: ({ access }) => ({ token: access.facts.rootToken }),
  secrets: 1,
  ...more,
});
const ofMesh = (more: Partial<Case> = {}): Case => ({ about: mesh, secrets: 1, ...more });
const inToken = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const passwords = { password: typed, 'password-again': typed };

/** In this order on one practice stack: each finds what those before it left. */
const cases: Record<string, Case> = {
  'secrets-set': { words: ['rss-reader/DB_PASSWORD'], answers: () => ({ value: typed, again: typed }), secrets: 1 },
  'secrets-reveal': { words: ['rss-reader/DB_PASSWORD'], secrets: 1 },
  'secrets-export': {
    file: 'exported.age',
    answers: () => ({ 'passphrase-of-file': passphrase, 'passphrase-again': passphrase }),
    secrets: 2,
  },
  'secrets-import': { file: 'exported.age', answers: () => ({ 'passphrase-of-file': passphrase }), secrets: 1 },
  'secrets-rotate': { words: ['llm-proxy', 'LITELLM_MASTER_KEY'], secrets: 2, crashes: 1 },
  deploy: {
    about: 'rss-reader',
    first: (ground) => ground.run('remove', 'rss-reader', { options: { data: 'rss-reader' } }),
    secrets: 1,
    crashes: 3,
  },
  update: { about: 'rss-reader', secrets: 0, crashes: 1 },
  compose: { about: 'llm-proxy', words: ['ps'], secrets: 1 },
  'config-check': { words: ['sso-portal'], secrets: 1 },
  'admin-token': { about: 'password-vault', answers: () => ({ 'old-token': '', kept: 'yes' }), secrets: 1, crashes: 2 },
  unseal: {
    about: vault,
    answers: ({ access }) => ({ attempt: 'continue', share: (time) => access.facts.shares[time] ?? '' }),
    secrets: 3,
    crashes: 1,
  },
  'vault-token': ofVault(),
  'vault-list': ofVault({ words: ['secret/apps/'] }),
  'vault-read': ofVault({ words: ['secret/apps/rss-reader'], options: { field: 'database_password' }, secrets: 2 }),
  'vault-versions': ofVault({ words: ['secret/apps/rss-reader'] }),
  'vault-policies': ofVault(),
  'mesh-access': ofMesh({ answers: () => ({ access: 'make' }) }),
  'mesh-nodes': ofMesh(),
  'mesh-users': ofMesh(),
  'mesh-keys': ofMesh(),
  'mesh-policy': ofMesh(),
  'mesh-api-keys': ofMesh(),
  'mesh-user': ofMesh({ words: ['create', 'steward'] }),
  'bouncers-add': { words: ['firewall-nas'], secrets: 1 },
  'sso-password': {
    about: portal,
    words: ['mara'],
    answers: () => passwords,
    secrets: 2,
    belongs: [{ file: /users_database\.yml/, why: 'its digest: the portal reads it there' }],
  },
  'wireguard-make': {
    words: ['alice'],
    options: { plain: true },
    forms: () => ({ wireguard: { serverPublicKey: makeKeyPair().publicKey, endpoint: 'vpn.example.net:51820' } }),
    secrets: 2,
  },
  token: { answers: () => ({ token: `${inToken({ alg: 'RS256' })}.${inToken({ sub: 'ada', exp: 4e9 })}.${'c'.repeat(40)}` }), secrets: 1 },
};

/** Flows whose secrets another file searches for in the same way: with `traces`. */
const elsewhere: Record<string, readonly string[]> = {
  'vault-interrupted.test.ts': [
    ...['initialise', 'seal', 'vault-admin', 'vault-approle', 'vault-login', 'vault-logout', 'vault-policy', 'vault-revoke-root'],
    ...['vault-root', 'vault-rotate', 'vault-snapshot', 'vault-write'],
  ],
  'vault-versions.test.ts': ['vault-delete', 'vault-undelete', 'vault-destroy'],
  'vault-restore.test.ts': ['vault-restore'],
  'mesh-broken-off.test.ts': ['key', 'mesh-api-key'],
  'sso-interrupted.test.ts': ['sso-add'],
  'backup.test.ts': ['backup', 'restore'],
  'tunnels-interrupted.test.ts': ['clients-add', 'clients-disable', 'clients-remove', 'clients-show', 'overlay-ca', 'overlay-sign'],
};

/** Flows that can come upon a secret, and are not searched: why. */
const left: Record<string, readonly string[]> = {
  'They log in to the tunnel server as clients-disable does, and make nothing.': ['clients-list', 'clients-enable'],
  'Practice has no object storage; objects.test.ts searches what is shown, audited and kept of a link, the one that makes a secret.': [
    ...['objects-list', 'objects-get', 'objects-put', 'objects-remove', 'objects-link', 'objects-check'],
  ],
  'It lasts until somebody closes it; webhook-listen.test.ts searches what is told, audited and kept.': ['webhook-listen'],
  'The directory of practice answers no LDAP, and a real one is searched for what is shown alone.': ['ldap-users', 'ldap-add'],
  'What they do with a password is what sso-password and sso-add do.': ['sso-disable', 'sso-enable', 'sso-second-factor'],
  'They let the console in as mesh-nodes does, and handle no other key.': [
    'mesh-node',
    'mesh-register',
    'mesh-expire-key',
    'mesh-edit-policy',
  ],
  'They log in with the password of a machine, which the client reads in the container and no session sees.': [
    ...['ban', 'unban', 'decisions', 'alerts', 'allowlists-list', 'allowlists-check', 'allowlists-create', 'allowlists-add'],
    ...[
      'allowlists-remove',
      'allowlists-delete',
      'bouncers-list',
      'bouncers-delete',
      'machines-list',
      'machines-validate',
      'machines-delete',
    ],
    ...['collections-list', 'collections-install', 'collections-remove', 'hub-update', 'hub-upgrade', 'metrics'],
  ],
  'They apply plans as deploy and secrets-rotate do, with the same secrets.': [
    'edit',
    'rollback',
    'recover',
    'up',
    'close-signups',
    'sso-rule-add',
    'route',
  ],
  'Walks over a cluster hold the token of its kubeconfig alone, which upgrade-cluster.test.ts searches for.': ['upgrade'],
  'They open the same target as backup does, with the same password.': [
    'backup-all',
    'backup-list',
    'backup-verify',
    'backup-schedule',
    'backup-unschedule',
  ],
};

const here = fileURLToPath(new URL('.', import.meta.url));
const handlesSecrets = /ask\.secret|\.hide\(|kind: 'secret'|reveals:/;

/** What a file of flows brings along, files of types left out. */
async function withImports(file: string, seen = new Map<string, string>()): Promise<Map<string, string>> {
  if (seen.has(file)) return seen;
  const text = await readFile(join(here, file), 'utf8');
  seen.set(file, text);
  for (const [line, name = ''] of text.matchAll(/^import (?!type).*?from '\.\/([\w-]+\.ts)'|await import\('\.\/([\w-]+\.ts)'\)/gms)) {
    const imported = name || /'\.\/([\w-]+\.ts)'/.exec(line)?.[1];
    if (imported !== undefined) await withImports(imported, seen);
  }
  return seen;
}

test('every flow that can come upon a secret stands in one of these lists, and nothing stands there for nothing', async () => {
  const registry = await readFile(join(here, 'registry.ts'), 'utf8');
  const listed = [...Object.keys(cases), ...Object.values(elsewhere).flat(), ...Object.values(left).flat()];
  expect(listed.filter((id, at) => listed.indexOf(id) !== at)).toEqual([]);
  const wanted: string[] = [];
  for (const [, about = '', file = ''] of registry.matchAll(/later\((\w+), async \(\) => \(await import\('\.\/([\w-]+\.ts)'/g)) {
    const texts = [...(await withImports(file)).values()];
    if (!texts.some((text) => handlesSecrets.test(text))) continue;
    const found = await idOf(registry, about);
    wanted.push(found);
  }
  expect(wanted.length).toBeGreaterThan(80);
  expect(listed.sort()).toEqual(wanted.sort());
  for (const id of listed) expect(flows.some((flow) => flow.id === id)).toBe(true);
  for (const [file, ids] of Object.entries(elsewhere)) {
    const text = await readFile(join(here, file), 'utf8');
    expect(text).toMatch(/await traces(?:InTurn)?\(/);
    for (const id of ids) {
      const name = id.replace(/-./g, (part) => part.slice(1).toUpperCase());
      expect(text).toMatch(new RegExp(`'${id}'|, ${name}, |\\(${name}[,)]`));
    }
  }
});

async function idOf(registry: string, about: string): Promise<string> {
  const file = new RegExp(`import \\{[^}]*\\b${about}\\b[^}]*\\} from '(\\./[\\w-]+\\.ts)'`).exec(registry)?.[1] ?? '';
  const { [about]: found } = (await import(/* @vite-ignore */ file)) as Record<string, { id: string } | undefined>;
  return found?.id ?? `no ${about} in ${file}`;
}

describe('no secret stays anywhere, in a crash neither', () => {
  beforeAll(async () => {
    stage = await PracticeStage.open();
  });
  afterAll(() => stage.close());

  for (const [id, { about = '', answers, secrets, crashes, file, forms, ...played }] of Object.entries(cases)) {
    test(id, { timeout: 120_000 }, async () => {
      const words = file === undefined ? (played.words ?? []) : [join(stage.home, file)];
      const operator = () => {
        const one = answering(answers?.(stage) ?? {});
        for (const [form, values] of Object.entries(forms?.() ?? {})) one.typed[form] = [values];
        return one;
      };
      const ground = await onPractice(id, about, { ...played, words, operator }, () => stage)();
      const seen = await tracesInTurn(ground, crashes);
      expect(seen.found).toEqual([]);
      expect(seen.secrets).toBeGreaterThanOrEqual(secrets);
    });
  }
});
