import type { NotificationTarget } from '../../config/notification-settings.ts';
import type { NotificationSettings } from '../../config/settings.ts';
import { Fault } from '../../faults/fault.ts';
import { testMessage } from '../../notifications/message.ts';
import { type Notifications, targetSecret } from '../../notifications/notifications.ts';
import { usesSecret } from '../../notifications/send.ts';
import { resultText } from '../../notifications/watch.ts';
import { valueProblem } from '../../secrets/backend.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { countText } from '../../text/quantities.ts';
import type { FlowContext, Procedure } from '../flow.ts';
import { wordsUpTo } from '../flow-options.ts';

const oneTarget = { takes: 'One target at a time', remedy: 'Run the command once for each target.' };

export function notificationsOf({ notifications }: FlowContext): Notifications {
  if (notifications) return notifications;
  throw new Fault('refused.readOnly', 'Notifications are not available here.', 'Run the command without --read-only.');
}

/** Throws `usage.notification` if there are no targets. */
export async function settingsOf(notifications: Notifications): Promise<NotificationSettings> {
  const settings = await notifications.settings();
  if (Object.keys(settings.targets).length > 0) return settings;
  const remedy = 'Add one to config.yaml, for example: notifications: {phone: {type: ntfy, url: "https://ntfy.sh/my-stack"}}';
  throw new Fault('usage.notification', 'No notification targets are configured.', remedy);
}

function unknownTarget(written: string, targets: Readonly<Record<string, NotificationTarget>>): Fault {
  const remedy = nameRemedy(written, Object.keys(targets), 'Add it to notifications in config.yaml.');
  return new Fault('usage.notification', `No notification target is named "${cleanLine(written)}".`, remedy);
}

export const notifyTest: Procedure = async (session, input, context) => {
  const notifications = notificationsOf(context);
  const { targets } = await settingsOf(notifications);
  const [wanted] = wordsUpTo(1, input, oneTarget);
  if (wanted !== undefined && !targets[wanted]) throw unknownTarget(wanted, targets);
  const names = wanted === undefined ? Object.keys(targets) : [wanted];
  const secrets = () => context.vault(session);
  // A passphrase is prompted for before anything is sent, and not in a dry run.
  if (!session.dryRun && !session.readOnly && session.attended && names.some((name) => isLocked(targets[name]))) await secrets();
  const results = await session.act({
    id: 'test',
    right: 'operate',
    request: `send a test message to ${names.join(', ')}`,
    run: (grant) =>
      Promise.all(
        names.map(async (name) => {
          const result = await notifications.send(name, testMessage, secrets, grant.signal);
          return { target: name, type: targets[name]?.type, result: result.state, message: resultText(name, result, false) };
        }),
      ),
  });
  if (!results) return { message: 'Dry run: nothing was sent.' };
  for (const { message } of results) session.show({ kind: 'text', text: message });
  const count = (state: string) => results.filter(({ result }) => result === state).length;
  const parts = [`sent ${count('sent')} of ${countText(results.length, 'test message')}`];
  if (count('failed') > 0) parts.push(`${count('failed')} failed`);
  if (count('skipped') > 0) parts.push(`${count('skipped')} skipped`);
  const text = parts.join(', ');
  return {
    message: `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`,
    data: { results },
    exitCode: count('failed') > 0 ? 1 : 0,
  };
};

const isLocked = (target: NotificationTarget | undefined) => target !== undefined && usesSecret(target);

const secretLabels: Readonly<Record<string, string>> = { ntfy: 'Access token', gotify: 'Application token', smtp: 'Password' };

export const notifyLogin: Procedure = async (session, input, context) => {
  const { targets } = await settingsOf(notificationsOf(context));
  const [word] = wordsUpTo(1, input, { ...oneTarget, takes: 'Secrets are not accepted on the command line, where others can see them' });
  const usable = Object.keys(targets).filter((name) => isLocked(targets[name]));
  if (word === undefined && !session.attended)
    throw new Fault('usage.notification', 'A notification target is required.', 'Use quarterdeck notify login TARGET.');
  if (word === undefined && usable.length === 0)
    throw new Fault('usage.notification', 'No notification target uses a token or password.', 'Set login, signed or user in config.yaml.');
  const name =
    word ?? (await session.ask.choice({ id: 'target', label: 'Target', choices: usable.map((value) => ({ value, label: value })) }));
  const target = targets[name];
  if (!target) throw unknownTarget(name, targets);
  if (!usesSecret(target)) {
    const remedy = 'Set login: true (ntfy), signed: true (webhook) or user (smtp) for it in config.yaml.';
    throw new Fault('usage.notification', `${name} (${target.type}) uses no token or password.`, remedy);
  }
  const vault = await context.vault(session);
  const secretName = targetSecret(name);
  // A dry run needs no secret.
  const value = session.dryRun
    ? ''
    : await session.ask.secret({
        id: 'secret',
        label: `${secretLabels[target.type] ?? 'Signing secret'} of ${name}`,
        help:
          target.type === 'webhook'
            ? `Stored in ${vault.where}. It signs the messages and is not sent.`
            : `Stored in ${vault.where}, and sent only to this target.`,
        check: valueProblem,
      });
  await session.act({
    id: 'login',
    right: 'operate',
    request: `store ${secretName} in ${vault.where}`,
    done: async () => (await vault.read(secretName, session.signal)) === value,
    run: (grant) => vault.write(grant, secretName, value, 'given'),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was stored.' };
  return { message: `Stored ${secretName} in ${vault.where}. To test it: quarterdeck notify test ${name}`, data: { name: secretName } };
};
