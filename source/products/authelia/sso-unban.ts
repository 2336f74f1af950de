import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import type { PortalBan } from './client/sso-portal.ts';
import { portalOf } from './sso-target.ts';

export const ssoUnban: Procedure = async (session, input, context) => {
  const { id, portal, engineName } = await portalOf(session, input, context);
  const bans = await portal.bans(session.signal);
  const banned = bans.map(({ kind, whom, expires }) => ({ kind, whom, expires }));
  if (bans.length === 0) return { message: `${id} bans nobody at the moment.`, data: { banned } };
  const end = bans.length === 1 ? 'it ends by itself' : 'they end by themselves';
  const left = {
    message: `No ban was lifted: ${end} at the time that is shown.`,
    remedy: `Come back any time: quarterdeck sso unban ${id}`,
  };
  const chosen = await unlessCancelled(session, left, () => choose(session, input, bans));
  if (chosen.length === 0) {
    const others = [...new Set(bans.map(({ whom }) => whom))].join(', ');
    const whom = cleanLine(input.words[0] ?? 'Whoever was chosen');
    return { message: `${whom} is not banned at ${id}. Banned are: ${others}.`, data: { banned } };
  }
  for (const ban of chosen) {
    await session.act({
      id: `lift ${ban.kind} ${ban.id}`,
      right: 'operate',
      request: `authelia storage bans ${ban.kind} revoke --id ${ban.id} (${ban.whom}, until ${ban.expires})`,
      target: { host: engineName, component: id },
      done: async () => !(await portal.bans(session.signal)).some((one) => one.kind === ban.kind && one.id === ban.id),
      run: (grant) => portal.lift(grant, ban),
    });
  }
  if (session.dryRun) return { message: 'Dry run: every ban stands.' };
  const names = [...new Set(chosen.map(({ whom }) => whom))].join(', ');
  return { message: `${names} may log in again at ${id}.`, data: { lifted: chosen.map(({ kind, whom }) => ({ kind, whom })) } };
};

/** Returns every ban of the chosen user or address: one can be banned more than once. */
async function choose(session: Session, input: FlowInput, bans: readonly PortalBan[]): Promise<readonly PortalBan[]> {
  const [word] = wordsUpTo(1, input, { takes: 'One user or address at a time', remedy: 'Run it once for each.' });
  const keyOf = ({ kind, whom }: PortalBan) => `${kind}:${whom}`;
  if (word !== undefined) return bans.filter(({ whom }) => whom === word);
  const kinds = new Map(bans.map((ban) => [keyOf(ban), ban]));
  const key = await session.ask.choice({
    id: 'whom',
    label: 'Whose ban is lifted?',
    choices: [...kinds].map(([value, { whom, kind, expires, reason }]) => ({
      value,
      label: whom,
      detail: [kind === 'ip' ? 'address' : 'user', `until ${expires}`, reason].filter(Boolean).join(' · '),
    })),
  });
  return bans.filter((ban) => keyOf(ban) === key);
}
