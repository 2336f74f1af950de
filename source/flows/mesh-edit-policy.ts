import { textOfPeople } from '../config/encoding.ts';
import { Fault } from '../faults/fault.ts';
import { editText } from '../hosts/local-editor.ts';
import { deniesAll, policyTemplate } from '../products/mesh-policy.ts';
import type { PolicyFinding } from '../products/mesh-policy-text.ts';
import type { Review, Session } from '../session/session.ts';
import { diffLines } from '../stack/plan-text.ts';
import { countText } from '../text/quantities.ts';
import { meshEditPolicyAbout } from './about-mesh.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { judge, type PolicyJudgement } from './mesh-policy.ts';
import { type MeshAccess, meshOf } from './mesh-session.ts';
import { ownWayOf, policyHomeOf } from './mesh-target.ts';
import { leavingSays } from './mesh-words.ts';

const name = 'policy.hujson';
/** What was written so far, for a run that breaks off. */
const draftStep = 'draft';
const largestBytes = 1024 * 1024;

export const meshEditPolicy: Flow = {
  ...meshEditPolicyAbout,
  async run(session, input, world) {
    const access = await meshOf(session, input, world);
    await throwIfFile(access);
    const before = await access.client.policy(session.signal);
    const way = 'Go on with what you wrote: quarterdeck run';
    return leavingSays(session, 'The policy is as before.', () => rounds(session, input, access, before?.text), way);
  },
};

/** Said before anybody types: a policy in a file is changed there. */
async function throwIfFile({ target }: MeshAccess): Promise<void> {
  const { mode, file } = await policyHomeOf(target);
  if (mode !== 'file') return;
  throw new Fault({
    code: 'refused.policyFile',
    message: `The policy of ${target.component.id} is a file${file === '' ? '' : ` (${file} in its container)`}: its configuration says policy.mode: file.`,
    remedy: 'Edit the file and restart it, or set policy.mode to database in its configuration: then it is set from here.',
  });
}

async function rounds(session: Session, input: FlowInput, access: MeshAccess, before: string | undefined): Promise<FlowOutcome> {
  const { client, target } = access;
  const draft = session.noted(draftStep).at(-1);
  if (draft !== undefined && draft === before && !input.stdin)
    return { message: 'The policy is in force and reads back as written.', data: { changed: true } };
  let text = draft ?? before ?? policyTemplate;
  for (let round = 1; ; round++) {
    text = input.stdin ? piped(input.stdin) : await edited(session, text);
    if (text !== draft) await session.note(draftStep, text);
    if (text === before) return { message: 'The policy is as before: nothing was changed in it.', data: { changed: false } };
    const judgement = await judge(session, access, text);
    const ways = await ownWays(access, text);
    const choice = await session.review(
      reviewOf({ before, text, judgement, ways, round, piped: input.stdin !== undefined, minor: client.version.minor }),
    );
    if (session.rehearsing)
      return { message: 'Rehearsed: the policy is as before.', data: { changed: false, findings: judgement.findings } };
    if (choice === 'edit') continue;
    if (choice !== 'set')
      throw new Fault({
        code: 'interrupted.cancelled',
        message: 'The policy is as before.',
        remedy: 'Start it again.',
      });
    await session.act({
      id: 'set-policy',
      right: 'operate',
      request: `PUT /api/v1/policy: ${changeText(before, text)}`,
      target: { host: target.component.host, component: target.component.id },
      done: async () => (await client.policy(session.signal))?.text === text,
      run: async (grant) => {
        if ((await client.policy(grant.signal))?.text !== before) throw overtaken(target.component.id);
        await client.setPolicy(grant, text);
      },
    });
    const after = await client.policy(session.signal);
    if (after?.text !== text) {
      throw new Fault({
        code: 'failed.policy',
        message: 'The policy was set, and what the control server reads back is another one.',
        remedy: `Look at it: quarterdeck mesh policy ${target.component.id}`,
      });
    }
    return {
      message: `The policy is in force and reads back as written (${changeText(before, text)}).`,
      data: {
        changed: true,
        updatedAt: after.updatedMs === undefined ? null : new Date(after.updatedMs).toISOString(),
        findings: judgement.findings,
      },
    };
  }
}

function piped(bytes: Uint8Array): string {
  if (bytes.length > largestBytes)
    throw new Fault({ code: 'usage.policy', message: 'That is more than a megabyte, and no policy.', remedy: 'Pipe the policy in.' });
  const text = textOfPeople(bytes, 'the input', 'usage.policy');
  if (text.trim() !== '') return text;
  throw new Fault({
    code: 'usage.policy',
    message: 'Nothing was piped in.',
    remedy: 'For example: quarterdeck mesh edit-policy COMPONENT --stdin < policy.hujson',
  });
}

async function edited(session: Session, text: string): Promise<string> {
  if (!session.attended) {
    throw new Fault({
      code: 'refused.noTerminal',
      message: 'An editor needs a terminal, and there is none.',
      remedy: 'Run it in a terminal, or pipe the new policy in with --stdin.',
    });
  }
  return session.lend(() => editText(text, { name, env: process.env, signal: session.signal }));
}

interface Way {
  level: 'blocking' | 'warning';
  message: string;
}

/** What a policy does to the operator's own way in, where that goes over the mesh. */
export async function ownWays(access: MeshAccess, text: string): Promise<readonly Way[]> {
  const way = await ownWayOf(access.target, await access.client.nodes(access.target.signal));
  if (!way) return [];
  if (deniesAll(text))
    return [
      {
        level: 'blocking',
        message: `Your own connection goes over the mesh (${way.node.name}), and this policy lets nobody reach anybody.`,
      },
    ];
  return [
    {
      level: 'warning',
      message: `Your own connection goes over the mesh (${way.node.name}): see to it that a rule lets you in, or have another way at hand.`,
    },
  ];
}

interface Reviewed {
  before: string | undefined;
  text: string;
  judgement: PolicyJudgement;
  ways: readonly Way[];
  round: number;
  piped: boolean;
  minor: number;
}

function reviewOf({ before, text, judgement, ways, round, piped: isPiped, minor }: Reviewed): Review {
  const errors = judgement.findings.filter(({ level }) => level === 'error');
  const isBlocked = errors.length > 0 || ways.some(({ level }) => level === 'blocking');
  const blocked = isBlocked
    ? `${countText(errors.length + ways.filter(({ level }) => level === 'blocking').length, 'mistake')} to mend first`
    : undefined;
  const unasked =
    judgement.server === undefined ? [{ text: `Headscale 0.${minor} cannot be asked before: it checks the policy when it is set.` }] : [];
  return {
    id: `policy-${round}`,
    title: before === undefined ? 'Set the first policy of the mesh' : 'Change the policy of the mesh',
    sections: [
      {
        title: `${name}: ${changeText(before, text)}`,
        lines: diffLines({ path: name, before, after: text }),
      },
      ...(unasked.length > 0 ? [{ title: 'Not checked by the server', lines: unasked }] : []),
    ],
    findings: [
      ...judgement.findings.map(findingOf),
      ...ways.map(({ level, message }, at) => ({
        id: `way-${at}`,
        level,
        message,
        advice: 'A connection that is cut off cannot mend the policy.',
      })),
    ],
    summary:
      judgement.server === 'takes it'
        ? `The control server takes it; ${changeText(before, text)}.`
        : `Changes the policy: ${changeText(before, text)}.`,
    actions: [
      { id: 'set', label: 'Set it', ...(blocked !== undefined && { blocked }) },
      ...(isPiped ? [] : [{ id: 'edit', label: 'Edit it again' }]),
      { id: 'cancel', label: 'Leave it as before' },
    ],
  };
}

function findingOf({ level, message, line, column }: PolicyFinding, at: number): Review['findings'][number] {
  return {
    id: `policy-${at}`,
    level: level === 'error' ? 'blocking' : 'warning',
    message: `Line ${line}, column ${column}: ${message}`,
    advice: level === 'error' ? 'Mend that, and set it again.' : 'Look whether that is meant.',
    rule: 'R62',
  };
}

/** `3 lines new, 1 gone`. */
function changeText(before: string | undefined, after: string): string {
  const lines = diffLines({ path: name, before, after });
  const count = (mark: string) => lines.filter((line) => line.mark === mark).length;
  return `${countText(count('added'), 'line')} new, ${count('removed')} gone`;
}

function overtaken(id: string): Fault {
  return new Fault({
    code: 'refused.overtaken',
    message: 'Somebody else changed the policy while you were editing: yours was not set.',
    remedy: `Look at theirs, then edit again: quarterdeck mesh policy ${id}`,
  });
}
