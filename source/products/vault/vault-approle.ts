import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionsOf, showSecret } from '../../flows/flow-options.ts';
import { revealedSeconds } from '../../flows/secrets/flows.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { durationText } from '../../text/quantities.ts';
import { type Role, VaultAccess } from './client/vault-access.ts';
import { logIn, VaultTokens } from './client/vault-tokens.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

const usualMount = 'approle';
const madeStep = 'made';

export const vaultApprole: Procedure = async (session, input, context) => {
  const vault = await openVaultOf(session, input, context);
  const { component, endpoint, target } = vault;
  const name = (input.words[0] ?? (await askName(session))).trim();
  const shown = cleanLine(name);
  if (session.dryRun) {
    const would = `ask for a token, switch AppRole on where it is off, write the role ${shown}, and make a secret id for it that is shown once`;
    return dryRunOf(session, would, `there is no new secret id for ${shown}.`);
  }
  const { token } = await tokenFor(session, context, target, {
    may: 'update on auth/approle/role, and sudo on sys/auth where AppRole is off',
  });
  const access = new VaultAccess(endpoint, token);
  const mount = await mountOf(session, access, vault);
  const role = await roleOf(session, access, vault, mount, name, input);
  const roleId = await access.roleId(mount, name, session.signal);
  await removeLost(session, access, vault, mount, name);
  const made = await session.act({
    id: 'secret-id',
    right: 'reveal',
    request: `POST /v1/auth/${mount}/role/${shown}/secret-id`,
    target,
    run: async (grant) => {
      const { secretId, accessor } = await access.makeSecretId(grant, mount, name);
      session.hide(secretId);
      // If the run is interrupted here, the secret id may not have been shown.
      await session.note(madeStep, accessor);
      // Tested before it is handed over, so that a later failure in the program has another cause. The token of the test is revoked at
      // once.
      const proof = await logIn(grant, endpoint, { method: 'approle', mount, roleId, secretId });
      session.hide(proof);
      await new VaultTokens(endpoint, proof).revokeSelf(grant);
      showSecret(session, input, { label: `Secret id of ${shown}`, value: secretId, secondsLeft: revealedSeconds });
      return { accessor };
    },
  });
  return {
    message: `${shown} logs in to ${component.id} with the role id ${roleId} and a new secret id, tried here; its tokens last ${durationText(role.ttlSeconds * 1000)} and have ${role.policies.join(', ') || 'no policy'}.`,
    data: { role: name, mount, roleId, policies: role.policies, ttlSeconds: role.ttlSeconds, ...(made && { accessor: made.accessor }) },
  };
};

/** Removes the secret id of an interrupted run: it is unknown whether it was shown, and a new one is created now. */
async function removeLost(session: Session, access: VaultAccess, { target }: OpenVault, mount: string, name: string): Promise<void> {
  for (const [at, accessor] of session.noted(madeStep).entries()) {
    await session.act({
      id: `remove-lost-${at + 1}`,
      right: 'operate',
      request: `POST /v1/auth/${mount}/role/${cleanLine(name)}/secret-id-accessor/destroy of the one that the run made before it broke off (${accessor})`,
      target,
      done: async () => !(await access.hasSecretId(mount, name, accessor, session.signal)),
      run: (grant) => access.removeSecretId(grant, mount, name, accessor),
    });
  }
}

function askName(session: Session): Promise<string> {
  return session.ask.text({
    id: 'role',
    label: 'Which program?',
    help: 'A role of its own for each: new, or one that gets another secret id.',
    check: (text) => (/^[\w.-]{1,100}$/.test(text.trim()) ? undefined : 'Letters, digits, dots and dashes: rss-reader'),
  });
}

async function mountOf(session: Session, access: VaultAccess, { target }: OpenVault): Promise<string> {
  const mount = await access.roleMount(session.signal);
  if (mount !== undefined) return mount;
  await session.act({
    id: 'mount',
    right: 'operate',
    request: `POST /v1/sys/auth/${usualMount} {"type": "approle"}`,
    target,
    done: async () => (await access.roleMount(session.signal)) !== undefined,
    run: (grant) => access.mountRoles(grant, usualMount),
  });
  return usualMount;
}

/** An existing role stays unchanged unless policies are passed. */
async function roleOf(
  session: Session,
  access: VaultAccess,
  { target }: OpenVault,
  mount: string,
  name: string,
  input: FlowInput,
): Promise<Role> {
  const there = await access.role(mount, name, session.signal);
  const given = optionsOf(input, 'policy') ?? [];
  if (there && given.length === 0) return there;
  const known = await access.policies(session.signal);
  const policies = given.length > 0 ? given : await askPolicies(session, known);
  const unknown = policies.find((policy) => !known.includes(policy));
  if (unknown !== undefined) {
    throw new Fault(
      'usage.policy',
      `There is no policy "${cleanLine(unknown)}": the program could do nothing.`,
      `Write it first (vault policy), or take one of: ${known.map(cleanLine).join(', ')}.`,
    );
  }
  const ttlSeconds = there?.ttlSeconds || (await askTtl(session));
  const role = { policies, ttlSeconds };
  await session.act({
    id: 'role',
    right: 'operate',
    request: `POST /v1/auth/${mount}/role/${cleanLine(name)}: ${policies.map(cleanLine).join(', ')}, tokens of ${ttlSeconds} s`,
    target,
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
    throw new Fault('usage.policy', 'There is no policy yet that it could have.', 'Write one first: quarterdeck vault policy COMPONENT.');
  return session.ask.several({ id: 'policies', label: 'What may it do?', choices });
}

async function askTtl(session: Session): Promise<number> {
  if (!session.attended) return 20 * 60;
  return session.ask.duration({ id: 'ttl', label: 'How long does a login last?', help: 'It logs in anew afterwards.', initial: '20m' });
}
