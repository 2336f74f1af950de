import { textOfPeople } from '../../config/encoding.ts';
import { checkPolicy, deniesAll, locateComplaint, policyTemplate } from '../../config-files/headscale-policy/policy.ts';
import type { PolicyFinding } from '../../config-files/headscale-policy/text.ts';
import { Fault } from '../../faults/fault.ts';
import { editedText } from '../../flows/edited-text.ts';
import type { FlowOutcome } from '../../flows/flow.ts';
import { jsonTime } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Review } from '../../session/session.ts';
import { diffLines } from '../../stack/plan/plan-text.ts';
import { countText } from '../../text/quantities.ts';
import { actOn, type FlowMesh, type MeshAccess, onMesh } from './mesh-session.ts';
import { ownConnectionOf, settingOf } from './mesh-target.ts';

const name = 'policy.hujson';
const draftStep = 'draft';
const largestBytes = 1024 * 1024;

interface PolicyJudgement {
  findings: readonly PolicyFinding[];
  /** Undefined if the server's version has no check. */
  server: 'takes it' | 'refuses it' | undefined;
}

/** Checks a policy before it is set: first here, then on the server if its version has a check. */
async function judge({ session, client }: MeshAccess, text: string): Promise<PolicyJudgement> {
  const users = await client.users(session.signal);
  const own = checkPolicy(text, { minor: client.version.minor, users });
  const said = await client.checkPolicy(text, session.signal);
  if (said === undefined) return { findings: own, server: undefined };
  if (said.length === 0) {
    // A policy that the server accepts has no errors, whatever the check here found.
    return { findings: own.map((finding) => (finding.level === 'error' ? { ...finding, level: 'warning' } : finding)), server: 'takes it' };
  }
  const isKnown = own.some(({ level }) => level === 'error');
  const theirs = said.map((line) => locateComplaint(text, `The control server reports: ${line}`));
  return { findings: isKnown ? [...own, ...theirs] : [...theirs, ...own], server: 'refuses it' };
}

export const meshPolicy = onMesh(async (access) => {
  const { session } = access;
  const policy = await access.client.policy(session.signal);
  if (!policy) {
    return {
      message: `No policy is set, so every node can reach every other node. To set one: quarterdeck mesh edit-policy ${access.target.component.id}`,
      data: { policy: null, updatedAt: null, findings: [] },
    };
  }
  const { findings } = await judge(access, policy.text);
  session.show({ kind: 'text', text: policy.text });
  // Not a table: findings are sentences, and none of them may be truncated.
  for (const [at, { line, column, level, message }] of findings.entries()) {
    const title = `line ${line}, column ${column}: ${message}`;
    session.show({ kind: 'item', id: `finding-${at}`, title, state: level === 'error' ? 'blocked' : 'warning' });
  }
  const errors = findings.filter(({ level }) => level === 'error').length;
  const said =
    findings.length === 0 ? 'no problems found' : errors > 0 ? countText(errors, 'error') : countText(findings.length, 'warning');
  return { message: `Current policy: ${said}.`, data: { policy: policy.text, updatedAt: jsonTime(policy.updatedMs), findings } };
});

export const meshEditPolicy = onMesh(async (access) => {
  const { session, client } = access;
  await throwIfFile(access);
  const before = await client.policy(session.signal);
  const left = { message: 'The policy was not changed.', remedy: 'To list the runs that you can resume: quarterdeck run' };
  return unlessCancelled(session, left, () => rounds(access, before?.text));
});

async function throwIfFile({ target }: MeshAccess): Promise<void> {
  if ((await settingOf(target, 'HEADSCALE_POLICY_MODE', ['policy', 'mode'])) !== 'file') return;
  const file = (await settingOf(target, 'HEADSCALE_POLICY_PATH', ['policy', 'path'])) ?? '';
  const message = `The policy of ${target.component.id} is in a file${file === '' ? '' : ` (${file} in the container)`}, because its configuration sets policy.mode to file.`;
  const remedy =
    'Edit the file and restart the server, or set policy.mode to database in the configuration of the server to edit the policy here.';
  throw new Fault('refused.policyFile', message, remedy);
}

async function rounds(access: FlowMesh, before: string | undefined): Promise<FlowOutcome> {
  const { session, input, client, target } = access;
  const draft = session.noted(draftStep).at(-1);
  if (draft !== undefined && draft === before && !input.stdin)
    return { message: 'The policy is in effect, verified by reading it back.', data: { changed: true } };
  let text = draft ?? before ?? policyTemplate;
  for (let round = 1; ; round++) {
    text = input.stdin ? piped(input.stdin) : await editedText(session, name, text, 'policy');
    if (text !== draft) await session.note(draftStep, text);
    if (text === before) return { message: 'The policy was not changed, because the new text is the same.', data: { changed: false } };
    const judgement = await judge(access, text);
    const warnings = await connectionFindings(access, text);
    const review = reviewOf(before, text, judgement, warnings, input.stdin !== undefined);
    const choice = await session.review({ id: `policy-${round}`, ...review });
    if (session.dryRun) return { message: 'Dry run: the policy was not changed.', data: { changed: false, findings: judgement.findings } };
    if (choice === 'edit') continue;
    if (choice !== 'set') throw new Fault('interrupted.cancelled', 'The policy was not changed.', 'Run the command again.');
    await actOn(access, 'set-policy', {
      right: 'operate',
      request: `PUT /api/v1/policy: ${changeText(before, text)}`,
      done: async () => (await client.policy(session.signal))?.text === text,
      run: async (grant) => {
        if ((await client.policy(grant.signal))?.text === before) return client.setPolicy(grant, text);
        const message = 'The policy was changed while you were editing, so your changes were not applied.';
        const remedy = `Review the current policy, then edit again: quarterdeck mesh policy ${target.component.id}`;
        throw new Fault('refused.overtaken', message, remedy);
      },
    });
    const after = await client.policy(session.signal);
    if (after?.text !== text) {
      const message = 'The policy was set, but the control server returns a different one.';
      throw new Fault('failed.policy', message, `Check the policy: quarterdeck mesh policy ${target.component.id}`);
    }
    return {
      message: `Set the policy and verified it by reading it back (${changeText(before, text)}).`,
      data: { changed: true, updatedAt: jsonTime(after.updatedMs), findings: judgement.findings },
    };
  }
}

function piped(bytes: Uint8Array): string {
  if (bytes.length > largestBytes) throw new Fault('usage.policy', 'The input is larger than 1 MB.', 'Pipe in the policy only.');
  const text = textOfPeople(bytes, 'the input', 'usage.policy');
  if (text.trim() !== '') return text;
  throw new Fault('usage.policy', 'The input is empty.', 'For example: quarterdeck mesh edit-policy COMPONENT --stdin < policy.hujson');
}

/** Returns the effect of a policy on the operator's own connection, if that goes over the mesh. */
export async function connectionFindings(access: MeshAccess, text: string): Promise<Review['findings']> {
  const connection = await ownConnectionOf(access.target, await access.client.nodes(access.session.signal));
  if (!connection) return [];
  const own = `Your own connection goes over the mesh (${connection.node.name})`;
  const [level, message] = deniesAll(text)
    ? (['blocking', `${own}, and this policy allows no connections.`] as const)
    : (['warning', `${own}. Make sure that a rule allows your connection, or that you have another way to log in.`] as const);
  return [{ id: 'way-0', level, message, advice: 'Without this connection, you may be unable to fix the policy.' }];
}

function reviewOf(before: string | undefined, text: string, judgement: PolicyJudgement, warnings: Review['findings'], isPiped: boolean) {
  const findings = [...judgement.findings.map(findingOf), ...warnings];
  const mistakes = findings.filter(({ level }) => level === 'blocking').length;
  const unasked = { text: 'This server checks the policy only when it is set.' };
  const change = changeText(before, text);
  return {
    title: before === undefined ? 'Set the first mesh policy' : 'Change the mesh policy',
    sections: [
      { title: `${name}: ${change}`, lines: diffLines({ path: name, before, after: text }) },
      ...(judgement.server === undefined ? [{ title: 'Not checked by the server', lines: [unasked] }] : []),
    ],
    findings,
    summary: judgement.server === 'takes it' ? `Accepted by the control server; ${change}.` : `Changes the policy: ${change}.`,
    actions: [
      { id: 'set', label: 'Set the policy', ...(mistakes > 0 && { blocked: `${countText(mistakes, 'error')} to fix first` }) },
      ...(isPiped ? [] : [{ id: 'edit', label: 'Edit again' }]),
      { id: 'cancel', label: 'Discard the change' },
    ],
  };
}

function findingOf({ level, message, line, column }: PolicyFinding, at: number): Review['findings'][number] {
  return {
    id: `policy-${at}`,
    level: level === 'error' ? 'blocking' : 'warning',
    message: `Line ${line}, column ${column}: ${message}`,
    advice: level === 'error' ? 'Fix the error, then set the policy again.' : 'Check whether this is intended.',
  };
}

function changeText(before: string | undefined, after: string): string {
  const lines = diffLines({ path: name, before, after });
  const count = (mark: string) => lines.filter((line) => line.mark === mark).length;
  return `${countText(count('added'), 'line')} added, ${count('removed')} removed`;
}
