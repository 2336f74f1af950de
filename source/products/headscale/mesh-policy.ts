import { checkPolicy, locateComplaint } from '../../config-files/headscale-policy/policy.ts';
import type { PolicyFinding } from '../../config-files/headscale-policy/text.ts';
import type { Procedure } from '../../flows/flow.ts';
import { jsonTime } from '../../flows/list-table.ts';
import type { Session } from '../../session/session.ts';
import { countText } from '../../text/quantities.ts';
import { type MeshAccess, meshOf } from './mesh-session.ts';

export interface PolicyJudgement {
  findings: readonly PolicyFinding[];
  /** Undefined if the server's version has no check. */
  server: 'takes it' | 'refuses it' | undefined;
}

/** Checks a policy before it is set: first here, then on the server if its version has a check. */
export async function judge(session: Session, { client }: MeshAccess, text: string): Promise<PolicyJudgement> {
  const users = await client.users(session.signal);
  const own = checkPolicy(text, { minor: client.version.minor, users });
  const said = await client.checkPolicy(text, session.signal);
  if (said === undefined) return { findings: own, server: undefined };
  if (said.length === 0) {
    // A policy that the server accepts has no errors, whatever the check here found.
    return { findings: own.map((finding) => (finding.level === 'error' ? { ...finding, level: 'warning' } : finding)), server: 'takes it' };
  }
  const isKnown = own.some(({ level }) => level === 'error');
  const theirs = said.map((line) => locateComplaint(text, `The control server says: ${line}`));
  return { findings: isKnown ? [...own, ...theirs] : [...theirs, ...own], server: 'refuses it' };
}

export const meshPolicy: Procedure = async (session, input, context) => {
  const access = await meshOf(session, input, context);
  const policy = await access.client.policy(session.signal);
  if (!policy) {
    return {
      message: `No policy is set: every node reaches every other. Set one: quarterdeck mesh edit-policy ${access.target.component.id}`,
      data: { policy: null, updatedAt: null, findings: [] },
    };
  }
  const { findings } = await judge(session, access, policy.text);
  session.show({ kind: 'text', text: policy.text });
  // Not a table: findings are sentences, and none of them may be truncated.
  for (const [at, { line, column, level, message }] of findings.entries())
    session.show({
      kind: 'item',
      id: `finding-${at}`,
      title: `line ${line}, column ${column}: ${message}`,
      state: level === 'error' ? 'blocked' : 'warning',
    });
  const errors = findings.filter(({ level }) => level === 'error').length;
  const said =
    findings.length === 0 ? 'nothing is wrong with it' : errors > 0 ? countText(errors, 'mistake') : countText(findings.length, 'remark');
  return {
    message: `The policy in force: ${said}.`,
    data: { policy: policy.text, updatedAt: jsonTime(policy.updatedMs), findings },
  };
};
