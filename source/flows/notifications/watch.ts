import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import type { OpenSecrets } from '../../notifications/notifications.ts';
import { usesSecret } from '../../notifications/send.ts';
import type { Report } from '../../notifications/watch.ts';
import type { Session } from '../../session/session.ts';
import { hasSystemd, removeUnit, type UnitFiles, unitLocation, unitWord, writeUnit } from '../../stack/systemd-unit.ts';
import { countText } from '../../text/quantities.ts';
import type { FlowContext, FlowOutcome, Lasting, Procedure } from '../flow.ts';
import { wordsUpTo } from '../flow-options.ts';
import { notificationsOf, settingsOf } from './notify.ts';

export const watch: Procedure = async (session, input, context) => {
  const { once, install, uninstall } = input.options;
  wordsUpTo(0, input, { takes: 'quarterdeck watch accepts no arguments', remedy: 'Limit rules with hosts and components in config.yaml.' });
  if ([once, install, uninstall].filter(Boolean).length > 1)
    throw new Fault('usage.watch', '--once, --install and --uninstall cannot be combined.', 'Pass one of them.');
  if (uninstall) return removeWatch(session, context);
  const notifications = notificationsOf(context);
  const { targets, rules } = await settingsOf(notifications);
  if (rules.length === 0) {
    const remedy = 'Add one to config.yaml, for example: rules: {failed: {state: [failed, unhealthy], for: 5m}}';
    throw new Fault('usage.notification', 'No rules are configured.', remedy);
  }
  if (install) return installWatch(session, context);
  const secrets = () => context.vault(session);
  // A passphrase cannot be prompted for later.
  if (session.attended && !session.dryRun && !session.readOnly && Object.values(targets).some(usesSecret)) await secrets();
  const subject = `evaluate ${countText(rules.length, 'rule')} and notify ${Object.keys(targets).join(', ')}`;
  if (once) return evaluateOnce(session, context, { secrets, subject });
  const lasts = await session.act({
    id: 'watch',
    right: 'operate',
    request: subject,
    run: async () => startWatch((report, signal) => notifications.run(secrets, report, signal)),
  });
  if (!lasts) return { message: 'Dry run: the rules were not evaluated.' };
  return { message: `Watching: ${countText(rules.length, 'rule')}, ${countText(Object.keys(targets).length, 'target')}.`, lasts };
};

async function evaluateOnce(
  session: Session,
  context: FlowContext,
  { secrets, subject }: { secrets: OpenSecrets; subject: string },
): Promise<FlowOutcome> {
  const reports: Report[] = [];
  const isDone = await session.act({
    id: 'watch',
    right: 'operate',
    request: subject,
    run: (grant) => notificationsOf(context).once(secrets, (report) => reports.push(report), grant.signal),
  });
  if (isDone === undefined) return { message: 'Dry run: nothing was evaluated.' };
  if (!isDone)
    return {
      message: 'Nothing was evaluated, because another Quarterdeck process is evaluating the rules.',
      data: { events: [], deliveries: [] },
    };
  for (const { kind, message } of reports) if (kind !== 'delivery') session.show({ kind: 'text', text: message });
  const events = reports.flatMap((report) => (report.kind === 'event' ? [report.event] : []));
  const deliveries = reports.flatMap((report) =>
    report.kind === 'delivery' ? [{ target: report.target, result: report.state, message: report.message }] : [],
  );
  const failed = deliveries.filter(({ result }) => result === 'failed');
  for (const { message } of failed) session.show({ kind: 'text', text: message });
  const count = events.length === 0 ? 'No new events.' : `${countText(events.length, 'event')}.`;
  return { message: count, data: { events, deliveries }, exitCode: failed.length > 0 ? 1 : 0 };
}

/** A running watch. What it reports before anyone follows is kept. */
function startWatch(run: (report: (report: Report) => void, signal: AbortSignal) => Promise<void>): Lasting {
  const ending = new AbortController();
  const closed = new AbortController();
  const waiting: Report[] = [];
  let failure: unknown;
  let tell: Parameters<Lasting['follow']>[0] | undefined;
  const take = (report: Report) => {
    if (!tell) waiting.push(report);
    else if (report.kind === 'event') tell(report.event.event, `${report.event.at} ${report.message}`, report.event);
    else if (report.kind === 'note') tell('note', report.message);
    else if (report.state === 'failed') tell(report.state, report.message);
  };
  run(take, ending.signal).catch((thrown: unknown) => {
    if (!ending.signal.aborted) failure = thrown;
    closed.abort();
  });
  return {
    isService: true,
    closed: closed.signal,
    close: () => ending.abort(),
    failure: () => failure,
    follow(follower) {
      tell = follower;
      for (const report of waiting.splice(0)) take(report);
      return () => {
        tell = () => undefined;
      };
    },
  };
}

const unitFiles: UnitFiles = {
  mark: '# Written by quarterdeck watch --install; remove it with: quarterdeck watch --uninstall',
  endings: ['service'],
  started: 'service',
  removedBy: 'quarterdeck watch --uninstall',
};

export function watchUnitText(argv: readonly string[], isOfUser: boolean): string {
  return `${unitFiles.mark}
[Unit]
Description=Evaluate the rules of Quarterdeck and send notifications

[Service]
ExecStart=${argv.map(unitWord).join(' ')}
Restart=on-failure
RestartSec=30

[Install]
WantedBy=${isOfUser ? 'default' : 'multi-user'}.target
`;
}

async function locationOf(context: FlowContext, signal: AbortSignal) {
  const host = context.localHost ?? context.hostOf('local');
  return { host, location: await unitLocation(host, 'quarterdeck-watch', signal) };
}

async function installWatch(session: Session, context: FlowContext): Promise<FlowOutcome> {
  refuseInPractice(context);
  const { host, location } = await locationOf(context, session.signal);
  const isOfUser = location.scope.length > 0;
  if (!(await hasSystemd(host, location, session.signal))) {
    const remedy = 'Run "quarterdeck watch" with your init system, or "quarterdeck watch --once" from cron.';
    throw new Fault('refused.schedule', 'Cannot reach systemd on this machine.', remedy);
  }
  const text = watchUnitText([...(context.program ?? ['quarterdeck']), 'watch'], isOfUser);
  session.show({ kind: 'text', text });
  const unit = posix.join(location.folder, `${location.name}.service`);
  await session.act({
    id: 'install',
    right: 'operate',
    request: `write ${unit}, systemctl ${[...location.scope, 'enable'].join(' ')} --now ${location.name}.service`,
    run: (grant) => writeUnit(grant, host, location, unitFiles, { service: text }),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was written.' };
  const lingers = isOfUser ? ' It runs only while you are logged in, unless you run "loginctl enable-linger".' : '';
  const log = `journalctl ${[...location.scope, '--unit'].join(' ')} ${location.name}`;
  return {
    message: `Started ${location.name}.service.${lingers} To show its log: ${log}. To remove it: quarterdeck watch --uninstall`,
    data: { unit: location.name },
  };
}

async function removeWatch(session: Session, context: FlowContext): Promise<FlowOutcome> {
  refuseInPractice(context);
  const { host, location } = await locationOf(context, session.signal);
  const gone = await session.act({
    id: 'uninstall',
    right: 'operate',
    request: `systemctl ${[...location.scope, 'disable'].join(' ')} --now ${location.name}.service, remove ${posix.join(location.folder, location.name)}.service`,
    run: (grant) => removeUnit(grant, host, location, unitFiles),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was removed.' };
  return { message: gone ? `Removed ${location.name}.service.` : 'No unit is installed.' };
}

function refuseInPractice({ practice }: FlowContext): void {
  if (practice) throw new Fault('refused.practice', 'A unit cannot watch a practice stack.', 'Run it without --practice.');
}
