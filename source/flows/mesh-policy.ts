import { checkPolicy, placeComplaint } from '../products/mesh-policy.ts';
import type { PolicyFinding } from '../products/mesh-policy-text.ts';
import type { Session } from '../session/session.ts';
import { countText } from '../text/quantities.ts';
import { meshPolicyAbout } from './about-mesh.ts';
import type { Flow } from './flow.ts';
import { type MeshAccess, meshOf } from './mesh-session.ts';

/** What is said of a policy, and whether its server was asked. */
export interface PolicyJudgement {
  findings: readonly PolicyFinding[];
  /** Undefined where its version cannot be asked. */
  server: 'takes it' | 'refuses it' | undefined;
}

/** Everything that can be known before it is set: what is read in it here, then what the server says, where its version can be asked. */
export async function judge(session: Session, { client }: MeshAccess, text: string): Promise<PolicyJudgement> {
  const users = await client.users(session.signal);
  const own = checkPolicy(text, { minor: client.version.minor, users });
  const said = await client.checkPolicy(text, session.signal);
  if (said === undefined) return { findings: own, server: undefined };
  if (said.length === 0) {
    // What the server takes is no mistake, whatever is thought here.
    return { findings: own.map((finding) => (finding.level === 'error' ? { ...finding, level: 'warning' } : finding)), server: 'takes it' };
  }
  const isKnown = own.some(({ level }) => level === 'error');
  const theirs = said.map((line) => placeComplaint(text, `The control server says: ${line}`));
  return { findings: isKnown ? [...own, ...theirs] : [...theirs, ...own], server: 'refuses it' };
}

export const meshPolicy: Flow = {
  ...meshPolicyAbout,
  async run(session, input, world) {
    const access = await meshOf(session, input, world);
    const policy = await access.client.policy(session.signal);
    if (!policy) {
      return {
        message: `No policy is set: every node reaches every other. Set one: quarterdeck mesh edit-policy ${access.target.component.id}`,
        data: { policy: null, updatedAt: null, findings: [] },
      };
    }
    const { findings } = await judge(session, access, policy.text);
    session.show({ kind: 'text', text: policy.text });
    // Not a table: what is wrong is a sentence, and none of them may be cut.
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
      data: { policy: policy.text, updatedAt: policy.updatedMs === undefined ? null : new Date(policy.updatedMs).toISOString(), findings },
    };
  },
};
