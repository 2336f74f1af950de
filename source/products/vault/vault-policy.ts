import { textOfPeople } from '../../config/encoding.ts';
import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { Procedure } from '../../flows/flow.ts';
import { showList } from '../../flows/list-table.ts';
import { editText } from '../../hosts/local-editor.ts';
import type { Session } from '../../session/session.ts';
import { diffLines } from '../../stack/plan/plan-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { VaultAccess } from './client/vault-access.ts';
import { openVaultOf, tokenFor } from './vault-open.ts';

const policyForms = [
  { value: 'read', label: 'Read below a path' },
  { value: 'write', label: 'Read and write below a path' },
  { value: 'editor', label: 'In an editor', detail: 'the whole policy, as it is or new' },
] as const;

export const vaultPolicies: Procedure = async (session, input, context) => {
  const { component, endpoint, target } = await openVaultOf(session, input, context);
  const { token } = await tokenFor(session, context, target, { may: 'read and list on sys/policies/acl' });
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
    throw new Fault('usage.policy', `${component.id} has no policy "${cleanLine(name)}".`, `It has: ${names.map(cleanLine).join(', ')}.`);
  }
  session.show({ kind: 'text', text: text === '' ? '(empty: it may do everything)' : text });
  return { message: `That is the policy ${cleanLine(name)}.`, data: { name, policy: text } };
};

export const vaultPolicy: Procedure = async (session, input, context) => {
  const { component, endpoint, target } = await openVaultOf(session, input, context);
  const name = (input.words[0] ?? (await askName(session))).trim();
  const shown = cleanLine(name);
  if (name === 'root') throw new Fault('refused.policy', 'The policy root is built in, and cannot be changed.', 'Write another.');
  if (session.dryRun && !input.stdin) {
    const would = `ask for a token and for what the policy ${shown} allows, show the difference, and send PUT /v1/sys/policies/acl/${shown}`;
    return dryRunOf(session, would, `the policy ${shown} is as it was.`);
  }
  const { token } = await tokenFor(session, context, target, { may: 'update on sys/policies/acl' });
  const access = new VaultAccess(endpoint, token);
  const before = await access.policy(name, session.signal);
  if (input.options['remove'] === true) return remove(session, access, target, name, before);
  const after = input.stdin ? textOfPeople(input.stdin, 'the input', 'usage.policy') : await composed(session, before ?? '');
  if (after.trim() === (before ?? '').trim()) return { message: `The policy ${shown} is so already.` };
  const answer = await session.review({
    id: 'policy',
    title: before === undefined ? `New policy ${shown}` : `Policy ${shown}`,
    sections: [{ title: 'What changes', lines: diffLines({ path: `${name}.hcl`, before: before ?? '', after }) }],
    findings: [],
    summary: `Writes the policy ${shown} of ${component.id}. Whoever has it may do that from then on.`,
    actions: [
      { id: 'apply', label: 'Write it' },
      { id: 'cancel', label: 'Cancel' },
    ],
  });
  if (session.dryRun) return { message: `Dry run: the policy ${shown} is as it was.` };
  if (answer !== 'apply') throw new Fault('interrupted.cancelled', 'The policy was not written.', 'Run it again.');
  await session.act({
    id: 'write',
    right: 'operate',
    request: `PUT /v1/sys/policies/acl/${shown}`,
    target,
    done: async () => (await access.policy(name, session.signal))?.trim() === after.trim(),
    run: (grant) => access.writePolicy(grant, name, after),
  });
  return { message: `The policy ${shown} is in force.`, data: { name, created: before === undefined } };
};

async function askName(session: Session): Promise<string> {
  return session.ask.text({
    id: 'name',
    label: 'Name of the policy',
    help: 'New, or one that is there: "vault policies" lists them.',
    check: (text) => (/^[\w.-]{1,128}$/.test(text.trim()) ? undefined : 'Letters, digits, dots and dashes.'),
  });
}

async function composed(session: Session, before: string): Promise<string> {
  const chosen = await session.ask.choice({
    id: 'allows',
    label: 'What does it allow?',
    help: before === '' ? 'There is none of that name yet.' : 'There is one already: the first two are added to it.',
    choices: policyForms,
    initial: before === '' ? 'read' : 'editor',
  });
  if (chosen === 'editor') return session.lend(() => editText(before, { name: 'policy.hcl', env: process.env, signal: session.signal }));
  const path = await session.ask.text({
    id: 'below',
    label: 'Below which path?',
    help: 'As an engine of version 2 wants it, with data in it: secret/data/apps. What is allowed ends there.',
    initial: 'secret/data/',
    check: (text) => (/^[^"\s/]+\/[^"\s]+$/.test(text.trim()) ? undefined : 'An engine, a slash and a path: secret/data/apps'),
  });
  const at = path.trim().replace(/\/?\*?$/, '');
  const capabilities = chosen === 'read' ? '"read", "list"' : '"create", "read", "update", "patch", "delete", "list"';
  const added = `path "${at}/*" {\n  capabilities = [${capabilities}]\n}\n`;
  // An interrupted run may have written it.
  if (before.includes(added.trim())) return before;
  return before === '' ? added : `${before.replace(/\n*$/, '\n')}${added}`;
}

async function remove(
  session: Session,
  access: VaultAccess,
  target: { host: string; component: string },
  name: string,
  before: string | undefined,
): Promise<{ message: string }> {
  if (before === undefined) return { message: `There is no policy ${cleanLine(name)}.` };
  await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove the policy ${cleanLine(name)}`,
    request: `DELETE /v1/sys/policies/acl/${cleanLine(name)}`,
    target,
    consequences: ['Tokens that have it lose at once what it allowed. Its text is not kept.'],
    done: async () => (await access.policy(name, session.signal)) === undefined,
    run: (grant) => access.removePolicy(grant, name),
  });
  return { message: `The policy ${cleanLine(name)} is removed.` };
}
