import { textOfPeople } from '../../config/encoding.ts';
import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowInput, FlowOutcome } from '../../flows/flow.ts';
import { optionsOf, showSecret } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import { revealedSeconds } from '../../flows/secrets/flows.ts';
import { editText } from '../../hosts/local-editor.ts';
import type { Session } from '../../session/session.ts';
import { diffLines } from '../../stack/plan/plan-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { durationText } from '../../text/quantities.ts';
import { logIn, type Role, VaultAccess } from './client/vault-access.ts';
import { onOpenVault, tokenFor } from './vault-open.ts';

export const vaultPolicies = onOpenVault(async (vault, input) => {
  const { session, component, endpoint } = vault;
  const { token } = await tokenFor(vault, { may: 'read and list on sys/policies/acl' });
  const access = new VaultAccess(endpoint, token);
  const name = input.words[0];
  if (name === undefined) {
    const names = await access.policies(session.signal);
    showList(session, names, { POLICY: cleanLine });
    return { message: `${component.id} has ${names.length} policies.`, data: { policies: names } };
  }
  const text = await access.policy(name, session.signal);
  if (text === undefined) {
    const names = await access.policies(session.signal);
    throw new Fault('usage.policy', `${component.id} has no policy "${cleanLine(name)}".`, `Policies: ${names.map(cleanLine).join(', ')}.`);
  }
  session.show({ kind: 'text', text: text === '' ? '(empty: all permissions)' : text });
  return { message: `Policy ${cleanLine(name)} of ${component.id}.`, data: { name, policy: text } };
});

export const vaultPolicy = onOpenVault(async (vault, input) => {
  const { session } = vault;
  const question = {
    id: 'name',
    label: 'Policy name',
    help: 'A new or an existing policy. To list the policies: quarterdeck vault policies COMPONENT',
    check: (text: string) => (/^[\w.-]{1,128}$/.test(text.trim()) ? undefined : 'Use letters, digits, dots, hyphens and underscores.'),
  };
  const name = (input.words[0] ?? (await session.ask.text(question))).trim();
  const shown = cleanLine(name);
  if (name === 'root') throw new Fault('refused.policy', 'The root policy is built in and cannot be changed.', 'Choose another policy.');
  const isRemoval = input.options['remove'] === true;
  if (session.dryRun && (isRemoval || !input.stdin)) {
    const steps = isRemoval ? ' and send DELETE' : ` and the permissions of the policy ${shown}, show the difference, and send PUT`;
    const would = `prompt for a token${steps} /v1/sys/policies/acl/${shown}`;
    return dryRunOf(session, would, `the policy ${shown} was not changed.`);
  }
  const { token } = await tokenFor(vault, { may: `read and ${isRemoval ? 'delete' : 'update'} on sys/policies/acl/${shown}` });
  const access = new VaultAccess(vault.endpoint, token);
  const before = await access.policy(name, session.signal);
  if (isRemoval) return removePolicy(session, access, name, before);
  const after = input.stdin ? textOfPeople(input.stdin, 'the input', 'usage.policy') : await composed(session, before ?? '');
  if (after.trim() === (before ?? '').trim())
    return { message: before === undefined ? `The policy ${shown} was not created: it is empty.` : `The policy ${shown} is up to date.` };
  const answer = await session.review({
    id: 'policy',
    title: before === undefined ? `New policy ${shown}` : `Policy ${shown}`,
    sections: [{ title: 'Changes', lines: diffLines({ path: `${name}.hcl`, before: before ?? '', after }) }],
    findings: [],
    summary: `Writes the policy ${shown} to ${vault.component.id}. The change applies to all tokens with this policy.`,
    actions: [
      { id: 'apply', label: 'Write' },
      { id: 'cancel', label: 'Cancel' },
    ],
  });
  if (session.dryRun) return { message: `Dry run: the policy ${shown} was not changed.` };
  if (answer !== 'apply') throw new Fault('interrupted.cancelled', 'The policy was not written.', 'Run the command again.');
  await session.act({
    id: 'write',
    right: 'operate',
    request: `PUT /v1/sys/policies/acl/${shown}`,
    done: async () => (await access.policy(name, session.signal))?.trim() === after.trim(),
    run: (grant) => access.writePolicy(grant, name, after),
  });
  return { message: `Wrote the policy ${shown}. It is now in effect.`, data: { name, created: before === undefined } };
});

async function composed(session: Session, before: string): Promise<string> {
  const chosen = await askChoice(session, {
    id: 'allows',
    label: 'Permissions',
    help: before === '' ? 'new policy' : 'The policy exists. The first two options add permissions to it.',
    choices: { read: 'Read below a path', write: 'Read and write below a path', editor: ['In an editor', 'edit the whole policy'] },
    initial: before === '' ? 'read' : 'editor',
  });
  if (chosen === 'editor') return session.lend(() => editText(before, { name: 'policy.hcl', env: process.env, signal: session.signal }));
  const path = await session.ask.text({
    id: 'below',
    label: 'Path prefix',
    help: 'For a version 2 engine, include data/, as in secret/data/apps. The policy covers only paths below this prefix.',
    initial: 'secret/data/',
    check: (text) => (/^[^"\s/]+\/[^"\s]+$/.test(text.trim()) ? undefined : 'Enter ENGINE/PATH, such as secret/data/apps.'),
  });
  const at = path.trim().replace(/\/?\*?$/, '');
  const capabilities = chosen === 'read' ? '"read", "list"' : '"create", "read", "update", "patch", "delete", "list"';
  const added = `path "${at}/*" {\n  capabilities = [${capabilities}]\n}\n`;
  // An interrupted run may have written it.
  if (before.includes(added.trim())) return before;
  return before === '' ? added : `${before.replace(/\n*$/, '\n')}${added}`;
}

async function removePolicy(session: Session, access: VaultAccess, name: string, before: string | undefined): Promise<FlowOutcome> {
  if (before === undefined) return { message: `The policy ${cleanLine(name)} does not exist.` };
  await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove the policy ${cleanLine(name)}`,
    request: `DELETE /v1/sys/policies/acl/${cleanLine(name)}`,
    consequences: ['Tokens with this policy lose its permissions immediately. The policy text is not saved.'],
    done: async () => (await access.policy(name, session.signal)) === undefined,
    run: (grant) => access.removePolicy(grant, name),
  });
  return { message: `Removed the policy ${cleanLine(name)}.` };
}

const usualMount = 'approle';
const madeStep = 'made';

export const vaultApprole = onOpenVault(async (vault, input) => {
  const { session, component, endpoint } = vault;
  const question = {
    id: 'role',
    label: 'Program',
    help: 'Use a separate role for each program. An existing role gets another secret ID.',
    check: (text: string) => (/^[\w.-]{1,100}$/.test(text.trim()) ? undefined : 'Use letters, digits, dots, hyphens and underscores.'),
  };
  const name = (input.words[0] ?? (await session.ask.text(question))).trim();
  const shown = cleanLine(name);
  if (session.dryRun) {
    const would = `prompt for a token, enable AppRole if needed, write the role ${shown}, and create a secret ID that is shown once`;
    return dryRunOf(session, would, `no secret ID was created for ${shown}.`);
  }
  const { token } = await tokenFor(vault, { may: 'create, read, update on auth/approle/role/*, read on sys/auth, sudo on sys/auth/*' });
  const access = new VaultAccess(endpoint, token);
  const mount = await mountOf(session, access);
  const role = await roleOf(session, access, mount, name, input);
  const roleId = await access.roleId(mount, name, session.signal);
  await removeLost(session, access, mount, name);
  const made = await session.act({
    id: 'secret-id',
    right: 'reveal',
    request: `POST /v1/auth/${mount}/role/${shown}/secret-id`,
    run: async (grant) => {
      const { secretId, accessor } = await access.makeSecretId(grant, mount, name);
      session.hide(secretId);
      // If the run is interrupted here, the secret id may not have been shown.
      await session.note(madeStep, accessor);
      // Tested before it is handed over, so that a later failure has another cause. The token of the test is revoked at once.
      const proof = await logIn(grant, endpoint, { mount, body: { role_id: roleId, secret_id: secretId } });
      session.hide(proof);
      await new VaultAccess(endpoint, proof).revokeSelf(grant);
      showSecret(session, input, { label: `Secret ID of ${shown}`, value: secretId, secondsLeft: revealedSeconds });
      return { accessor };
    },
  });
  return {
    message: `${shown} can log in to ${component.id} with the role ID ${roleId} and a new secret ID, which was tested. Validity of its tokens: ${role.ttlSeconds === 0 ? 'the default TTL of the server' : durationText(role.ttlSeconds * 1000)}; policies: ${role.policies.join(', ') || 'none'}.`,
    data: { role: name, mount, roleId, policies: role.policies, ttlSeconds: role.ttlSeconds, ...(made && { accessor: made.accessor }) },
  };
});

/** Removes the secret id of an interrupted run: it is unknown whether it was shown, and a new one is created now. */
async function removeLost(session: Session, access: VaultAccess, mount: string, name: string): Promise<void> {
  for (const [at, accessor] of session.noted(madeStep).entries()) {
    await session.act({
      id: `remove-lost-${at + 1}`,
      right: 'operate',
      request: `POST /v1/auth/${mount}/role/${cleanLine(name)}/secret-id-accessor/destroy for the secret ID of the interrupted run (${accessor})`,
      done: async () => !(await access.hasSecretId(mount, name, accessor, session.signal)),
      run: (grant) => access.removeSecretId(grant, mount, name, accessor),
    });
  }
}

async function mountOf(session: Session, access: VaultAccess): Promise<string> {
  const mount = await access.roleMount(session.signal);
  if (mount !== undefined) return mount;
  await session.act({
    id: 'mount',
    right: 'operate',
    request: `POST /v1/sys/auth/${usualMount} {"type": "approle"}`,
    done: async () => (await access.roleMount(session.signal)) !== undefined,
    run: (grant) => access.mountRoles(grant, usualMount),
  });
  return usualMount;
}

/** An existing role stays unchanged unless policies are passed. */
async function roleOf(session: Session, access: VaultAccess, mount: string, name: string, input: FlowInput): Promise<Role> {
  const there = await access.role(mount, name, session.signal);
  const given = optionsOf(input, 'policy') ?? [];
  if (there && given.length === 0) return there;
  const known = await access.policies(session.signal);
  const policies = given.length > 0 ? given : await askPolicies(session, known);
  const unknown = policies.find((policy) => !known.includes(policy));
  if (unknown !== undefined) {
    const remedy = `To create the policy: quarterdeck vault policy COMPONENT. Or use one of: ${known.map(cleanLine).join(', ')}.`;
    throw new Fault('usage.policy', `The policy "${cleanLine(unknown)}" does not exist, so it would grant no permissions.`, remedy);
  }
  const role = { policies, ttlSeconds: there?.ttlSeconds || (await askTtl(session)) };
  await session.act({
    id: 'role',
    right: 'operate',
    request: `POST /v1/auth/${mount}/role/${cleanLine(name)}: ${policies.map(cleanLine).join(', ')}, tokens valid for ${role.ttlSeconds} s`,
    done: async () => isSame(await access.role(mount, name, session.signal), role),
    run: (grant) => access.writeRole(grant, mount, name, role),
  });
  return role;
}

function isSame(one: Role | undefined, { policies, ttlSeconds }: Role): boolean {
  return one !== undefined && one.ttlSeconds === ttlSeconds && [...one.policies].sort().join() === [...policies].sort().join();
}

async function askPolicies(session: Session, known: readonly string[]): Promise<readonly string[]> {
  const choices = known.filter((name) => name !== 'root' && name !== 'default').map((name) => ({ value: name, label: cleanLine(name) }));
  if (choices.length === 0)
    throw new Fault('usage.policy', 'Only the policies root and default exist.', 'Create another: quarterdeck vault policy COMPONENT');
  return session.ask.several({ id: 'policies', label: 'Policies', choices });
}

async function askTtl(session: Session): Promise<number> {
  if (!session.attended) return 20 * 60;
  return session.ask.duration({ id: 'ttl', label: 'Token validity', help: 'The program logs in again after this time.', initial: '20m' });
}
