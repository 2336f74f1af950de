import { Fault, type FaultCode } from '../../../faults/fault.ts';
import type { MeshAnswer } from './headscale-api.ts';
import type { MeshVersion } from './headscale-version.ts';

/** The meaning of the server's messages (reference/headscale.md, "Error texts"), with the fix. */
const meanings: readonly { says: RegExp; code?: FaultCode; message: string; remedy: string }[] = [
  {
    says: /update is disabled for modes other than/i,
    code: 'refused.policyFile',
    message: 'the policy is in a file (policy.mode: file) and can be changed only there',
    remedy: 'Edit the file and reload the server, or set policy.mode to database in the configuration of the server.',
  },
  {
    says: /UNIQUE constraint|already exists|duplicate key/i,
    code: 'usage.mesh',
    message: 'the name is already in use',
    remedy: 'Choose another name.',
  },
  { says: /user not empty/i, message: 'the user still has nodes', remedy: 'Delete the nodes first: quarterdeck mesh node COMPONENT' },
  {
    says: /cannot edit OIDC user/i,
    message: 'the user comes from the identity provider',
    remedy: 'Change the user in the identity provider. The change takes effect at the next login.',
  },
  { says: /multiple users/i, message: 'several users match this name', remedy: 'Rename one of the users first.' },
  { says: /user not found/i, message: 'the user does not exist', remedy: 'List users: quarterdeck mesh users COMPONENT' },
  {
    says: /registration cache|no pending auth session|node not found in cache/i,
    message: 'no node is waiting with this key: it expired or was already used, or the control server was restarted',
    remedy: 'Log in on the node again, and use the new key that the node shows.',
  },
  {
    says: /node no longer exists|node not found/i,
    message: 'the node does not exist',
    remedy: 'List nodes: quarterdeck mesh nodes COMPONENT',
  },
  { says: /either tagged or owned by user/i, code: 'usage.mesh', message: 'a key requires a user or tags', remedy: 'Set one of them.' },
  {
    says: /invalid or not permitted/i,
    message: 'the current policy does not list all of these tags under tagOwners',
    remedy: 'Add the tags to the policy first: quarterdeck mesh edit-policy COMPONENT',
  },
  {
    says: /cannot remove all tags/i,
    message: 'a tagged node must keep at least one tag',
    remedy: 'To assign the node to a user, delete the node and let it join again.',
  },
  {
    says: /valid DNS label|invalid hostname/i,
    code: 'usage.mesh',
    message: 'the node name is not valid',
    remedy: 'Use letters, digits and hyphens.',
  },
  { says: /name is not unique/i, code: 'usage.mesh', message: 'another node already has this name', remedy: 'Choose another name.' },
  { says: /record not found/i, message: 'the key does not exist', remedy: 'List the keys again to see which exist.' },
];

export function refusalOf({ status, words, lines }: MeshAnswer, what: string, version: MeshVersion): Fault {
  const aside = words === '' ? '' : ` (${words})`;
  if (/^(?:setting|parsing) policy|test\(s\) failed/i.test(words)) {
    const message = `The control server rejects the policy: ${lines.join(' / ').replace(/^(?:setting policy: )?(?:parsing policy: )?/, '')}`;
    return new Fault('refused.policy', message, 'Nothing was changed. Fix the policy and set it again.');
  }
  const meaning = meanings.find(({ says }) => says.test(words));
  if (meaning) return new Fault(meaning.code ?? 'failed.mesh', `Headscale did not ${what}: ${meaning.message}${aside}.`, meaning.remedy);
  if (status === 501 || status === 405 || (status === 404 && /^(?:not found|404 page not found)?$/i.test(words))) {
    const message = `Headscale ${version.shown} cannot ${what} over its API${aside}.`;
    return new Fault('refused.version', message, 'Use the headscale command in the container: headscale --help');
  }
  const why = words === '' ? `the server responded with status ${status}` : words.replace(/\.$/, '');
  return new Fault('failed.mesh', `Headscale did not ${what}: ${why}.`, 'Check the log of the control server.');
}
