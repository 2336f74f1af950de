import { expect, test } from 'vitest';
import { flows } from '../../../source/app/flow-registry.ts';
import { changeFlows } from './changes.ts';
import { componentFlows } from './components.ts';
import { crowdsecFlows } from './crowdsec.ts';
import { deskFlows } from './desk.ts';
import { meshFlows } from './mesh.ts';
import { operationFlows } from './operations.ts';
import { practiceFlows } from './practice.ts';
import { ssoFlows } from './sso.ts';
import { vaultFlows } from './vault.ts';

/** Flows without a row: why, and which tests prove what they owe. What no test proves is said. */
const elsewhere: Readonly<Record<string, string>> = {
  'secrets-rotate':
    'each try takes a minute. Interrupted: test/real/interrupted.test.ts. No secret left: source/flows/secrets/secrets-left.test.ts. No test proves a dry run',
  route:
    'practice has one gateway that several use. Interrupted: test/real/interrupted.test.ts. Dry run: test/real/route.test.ts. Cancel: source/console/route.test.tsx',
  upgrade:
    'it is resumed from its checklist, not from the journal. Dry run, unattended and interrupted: source/products/kubernetes/upgrade-cluster.test.ts; of a component: source/flows/deploy/upgrade-component-interrupted.test.ts',
  tunnel: 'it needs a host over ssh: test/real/ssh-product.test.ts. No test proves a dry run or an interruption',
  ...each('they need a machine with data, and only read: source/flows/backup/backup.test.ts', ['backup-list', 'backup-verify']),
  ...each(
    'they need a machine with data. Dry run, read-only, cancel, no secret left: source/flows/backup/backup.test.ts. Interrupted: test/real/interrupted.test.ts',
    ['backup', 'restore'],
  ),
  'backup-all': 'it is backup for each component. No test of its own interrupts it',
  ...each('they need systemd. The timer: source/flows/backup/backup.test.ts. No test proves a dry run or an interruption', [
    ...['backup-schedule', 'backup-unschedule'],
  ]),
  'sso-second-factor': 'each try needs a portal of its own. Interrupted: source/products/authelia/sso-interrupted.test.ts',
  'sso-unban': 'each ban has another number, so its requests differ. Interrupted: source/products/authelia/sso-interrupted.test.ts',
  'sso-rule-add': 'it restarts the portal. Interrupted: source/products/authelia/sso-interrupted.test.ts. No test proves a dry run',
  'close-signups':
    'each try takes half a minute. Interrupted: source/products/vaultwarden/password-vault-interrupted.test.ts. Dry run and cancel: password-vault.test.ts there',
  'admin-token':
    'each run shows another token. Interrupted: source/products/vaultwarden/password-vault-interrupted.test.ts. No secret left: source/flows/secrets/secrets-left.test.ts. No test proves a dry run',
  'oidc-check':
    'practice has no identity provider. It only reads: source/products/identity/token-inspect.test.ts, test/real/keycloak.test.ts',
  ...each('practice has no directory server. Interrupted: test/real/ldap-directory.test.ts. No test proves a dry run', [
    'ldap-users',
    'ldap-add',
  ]),
  ...each('they need a certificate authority. Interrupted: source/products/identity/ca.test.ts. No test proves a dry run', [
    ...['ca-issue', 'ca-inspect'],
  ]),
  ...each('they need a real sshd: test/real/ssh-hosts.test.ts. No test interrupts hosts-trust', ['hosts-check', 'hosts-trust']),
};

function each(where: string, ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [id, where]));
}

test('every flow of the registry has a row, or it is said why not', () => {
  const changes = changeFlows('edit', 'update', 'rollback');
  const families = [changes, componentFlows, crowdsecFlows, deskFlows, meshFlows, operationFlows, practiceFlows, ssoFlows, vaultFlows];
  const rows = families.flatMap((family) => family.rows.map(({ flow }) => flow));
  const ids = flows.map(({ id }) => id);
  expect(ids.filter((id) => !rows.includes(id) && elsewhere[id] === undefined)).toEqual([]);
  expect(Object.keys(elsewhere).filter((id) => rows.includes(id) || !ids.includes(id))).toEqual([]);
});
