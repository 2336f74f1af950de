import { Fault } from '../faults/fault.ts';
import { type Role, VaultAccess } from '../products/vault-access.ts';
import { logIn, VaultTokens } from '../products/vault-tokens.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { durationText } from '../text/quantities.ts';
import { revealedSeconds } from './about-secrets.ts';
import { vaultApproleAbout } from './about-vault.ts';
import type { Flow, FlowInput } from './flow.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

const usualMount = 'approle';
/** Under which a run notes the accessor of what it made. */
const madeStep = 'made';

export const vaultApprole: Flow = {
  ...vaultApproleAbout,
  async run(session, input, world) {
    const vault = await openVaultOf(session, input, world);
    const { component, place, target } = vault;
    const name = (input.words[0] ?? (await askName(session))).trim();
    if (session.rehearsing) {
      session.show({
        kind: 'text',
        text: `Would ask for a token, switch AppRole on where it is off, write the role ${cleanLine(name)}, and make a secret id for it that is shown once`,
      });
      return { message: `Rehearsed: there is no new secret id for ${cleanLine(name)}.` };
    }
    const { token } = await tokenFor(session, world, target, {
      may: 'update on auth/approle/role, and sudo on sys/auth where AppRole is off',
    });
    const access = new VaultAccess(place, token);
    const mount = await mountOf(session, access, vault);
    const role = await roleOf(session, access, vault, mount, name, input);
    const roleId = await access.roleId(mount, name, session.signal);
    await removeLost(session, access, vault, mount, name);
    const made = await session.act({
      id: 'secret-id',
      right: 'reveal',
      request: `POST /v1/auth/${mount}/role/${cleanLine(name)}/secret-id`,
      target,
      run: async (grant) => {
        const { secretId, accessor } = await access.makeSecretId(grant, mount, name);
        session.hide(secretId);
        // Where the run breaks off nobody may have seen it.
        await session.note(madeStep, accessor);
        // Proved before it is handed on: whoever puts it into a program has enough to look for elsewhere. The token of the proof ends at once.
        const proof = await logIn(grant, place, { method: 'approle', mount, roleId, secretId });
        session.hide(proof);
        await new VaultTokens(place, proof).revokeSelf(grant);
        session.show({
          kind: 'secret',
          label: `Secret id of ${cleanLine(name)}`,
          value: secretId,
          secondsLeft: revealedSeconds,
          ...(input.options['plain'] === true && { plain: true }),
          ...(input.options['copy'] === true && { copyOnly: true }),
        });
        return { accessor };
      },
    });
    return {
      message: `${cleanLine(name)} logs in to ${component.id} with the role id ${roleId} and a new secret id, tried here; its tokens last ${durationText(role.ttlSeconds * 1000)} and have ${role.policies.join(', ') || 'no policy'}.`,
      data: { role: name, mount, roleId, policies: role.policies, ttlSeconds: role.ttlSeconds, ...(made && { accessor: made.accessor }) },
    };
  },
};

/** What a run made before it broke off: whether anybody has it nobody can tell, and another one is made now. */
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

/** One that is there stays as it is, unless policies are given. */
async function roleOf(
  session: Session,
  access: VaultAccess,
  { target }: OpenVault,
  mount: string,
  name: string,
  { options }: FlowInput,
): Promise<Role> {
  const there = await access.role(mount, name, session.signal);
  const written = options['policy'];
  const given = Array.isArray(written) ? (written as readonly string[]) : typeof written === 'string' ? [written] : [];
  if (there && given.length === 0) return there;
  const known = await access.policies(session.signal);
  const policies = given.length > 0 ? given : await askPolicies(session, known);
  const unknown = policies.find((policy) => !known.includes(policy));
  if (unknown !== undefined) {
    throw new Fault({
      code: 'usage.policy',
      message: `There is no policy "${cleanLine(unknown)}": the program could do nothing.`,
      remedy: `Write it first (vault policy), or take one of: ${known.map(cleanLine).join(', ')}.`,
    });
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
    throw new Fault({
      code: 'usage.policy',
      message: 'There is no policy yet that it could have.',
      remedy: 'Write one first: quarterdeck vault policy COMPONENT.',
    });
  return session.ask.several({ id: 'policies', label: 'What may it do?', choices });
}

async function askTtl(session: Session): Promise<number> {
  if (!session.attended) return 20 * 60;
  return session.ask.duration({ id: 'ttl', label: 'How long does a login last?', help: 'It logs in anew afterwards.', initial: '20m' });
}
