import type { NotificationSettings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { endingWith } from '../faults/waits.ts';
import type { SecretStorage } from '../secrets/secrets.ts';
import type { Message } from './message.ts';
import type { SendResult } from './send.ts';
import type { DeliveryFailure } from './state-file.ts';
import type { Report, WatchParts } from './watch.ts';

/** Name of the token or password of a target in the secret store. */
export const targetSecret = (target: string) => `local/notifications/${target}` as const;

export interface Notifications {
  /** As the file is now. Throws `config.*`. */
  settings(): Promise<NotificationSettings>;
  /** Evaluates the rules until the signal, with each new version of the settings. Rejects with its reason. */
  run(secrets: OpenSecrets, report: (report: Report) => void, signal: AbortSignal): Promise<void>;
  /** Evaluates once, and sends what is due. Returns false if another process evaluates the rules. */
  once(secrets: OpenSecrets, report: (report: Report) => void, signal: AbortSignal): Promise<boolean>;
  /** Sends one message once. Rejects only with the reason of the signal. */
  send(target: string, message: Message, secrets: OpenSecrets, signal: AbortSignal): Promise<SendResult>;
  /** By target. Empty if the file cannot be read. */
  failures(): Promise<Readonly<Record<string, DeliveryFailure>>>;
}

export type OpenSecrets = () => Promise<SecretStorage>;

export interface NotificationParts extends Omit<WatchParts, 'settings' | 'secretOf'> {
  readSettings(): Promise<NotificationSettings>;
  /** Calls back when the settings may have changed, until the returned function is called. */
  watchSettings(changed: () => void): () => void;
}

export function createNotifications({ readSettings, watchSettings, ...parts }: NotificationParts): Notifications {
  const secretOf = (secrets: OpenSecrets) => async (target: string, signal: AbortSignal) =>
    (await secrets()).read(targetSecret(target), signal);
  const open = async (settings: NotificationSettings, secrets: OpenSecrets, report: (report: Report) => void) => {
    const { NotificationWatch } = await import('./watch.ts');
    return NotificationWatch.open({ ...parts, settings, secretOf: secretOf(secrets) }, report);
  };
  return {
    settings: readSettings,
    async run(secrets, report, signal) {
      let settings = await readSettings();
      for (;;) {
        using round = endingWith(signal);
        const stop = watchSettings(() => {
          readSettings().then(
            (read) => {
              if (JSON.stringify(read) === JSON.stringify(settings)) return;
              settings = read;
              round.abort();
            },
            (thrown: unknown) => {
              if (!(thrown instanceof Fault)) throw thrown;
              report({
                kind: 'note',
                message: `The changed settings were rejected, so the previous ones stay in effect: ${thrown.message} ${thrown.remedy}`,
              });
            },
          );
        });
        try {
          await (await open(settings, secrets, report)).run(round.signal);
        } catch (thrown) {
          signal.throwIfAborted();
          if (!round.signal.aborted) throw thrown;
          report({ kind: 'note', message: 'Using the changed settings.' });
        } finally {
          stop();
        }
      }
    },
    async once(secrets, report, signal) {
      return (await open(await readSettings(), secrets, report)).once(signal);
    },
    async send(target, message, secrets, signal) {
      const { sendTo } = await import('./watch.ts');
      return sendTo({ ...parts, settings: await readSettings(), secretOf: secretOf(secrets) }, target, message, signal);
    },
    async failures() {
      const { readFailures } = await import('./state-file.ts');
      return readFailures(parts.file);
    },
  };
}
