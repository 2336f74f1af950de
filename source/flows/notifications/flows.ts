import { type Flow, flow, lazyFlows } from '../flow.ts';

export const notificationFlows: readonly Flow[] = lazyFlows({ about: 'host', offline: true }, [
  flow('operate', 'watch', {
    title: 'Evaluate rules and send notifications',
    summary:
      'Evaluates the rules in config.yaml for all hosts and sends notifications until Ctrl-C, without the console. Prints one line per event. While another process evaluates the rules, waits. --install starts it now and at each boot, as a systemd unit.',
    allHosts: true,
    flags: {
      once: { meaning: 'evaluate once, send what is due, and exit; for cron' },
      install: { meaning: 'write and start a systemd unit that runs it' },
      uninstall: { meaning: 'stop and remove that unit' },
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
