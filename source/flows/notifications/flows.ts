import { type Flow, flow, lazyFlows } from '../flow.ts';

export const notificationFlows: readonly Flow[] = lazyFlows({ about: 'host', offline: true }, [
  flow('operate', 'watch', {
    title: 'Evaluate rules and send notifications',
    summary:
      'Evaluates the rules in config.yaml for all hosts and sends notifications until you press Ctrl-C, without the console. Prints one line per event. If another Quarterdeck process is evaluating the rules, waits for it to end; with --once, evaluates nothing. --install installs a systemd unit that runs the command: at each boot if installed by root, otherwise at each login.',
    allHosts: true,
    flags: {
      once: { meaning: 'evaluate the rules once, send the messages that are due, and exit; for cron' },
      install: { meaning: 'install and start a systemd unit that runs this command' },
      uninstall: { meaning: 'stop and remove the systemd unit' },
    },
    // It runs until it is interrupted, and an open console does the same.
    offeredOn: () => false,
    load: async () => (await import('./watch.ts')).watch,
  }),
  flow('operate', 'notify test', {
    title: 'Send a test notification',
    summary: 'Sends a test message to all targets in config.yaml, or to one, and reports the result of each. Exits with 1 if one fails.',
    usage: '[TARGET]',
    load: async () => (await import('./notify.ts')).notifyTest,
  }),
  flow('operate', 'notify login', {
    title: 'Store the token or password of a notification target',
    summary:
      'Prompts for the token (ntfy, Gotify), the password (SMTP) or the signing secret (webhook) of a target in config.yaml, and stores it in the secret store.',
    usage: 'TARGET',
    load: async () => (await import('./notify.ts')).notifyLogin,
  }),
]);
