import { homedir } from 'node:os';
import { reportMistake, runCommandLine } from './cli/run-command-line.ts';
import { ownPaths } from './config/paths.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const interruptedCode = 130;
/** A keychain that never answers must not keep the process after the command has ended. */
const lingerMs = 500;
/** An engine on this machine is queried, and answers, in less. */
const askedLimitMs = 40;
const answeredLimitMs = 25;

/** Node waits for all of its threads, also for one that a keychain never answers; a program that replaces the process does not. */
function exitAtOnce(code?: number): void {
  const { execve } = process;
  if (execve)
    Object.assign(process, {
      reallyExit: (exitCode: number) => execve.call(process, '/bin/sh', ['sh', '-c', `exit ${exitCode}`], process.env),
    });
  process.exit(code);
}

/** The first signal requests the end, the second forces it. A closed window sends several: from the shell, the terminal and the kernel. */
function onSignal(interrupt: () => void): () => void {
  let isRequested = false;
  const handle = (signal: NodeJS.Signals) => {
    if (isRequested && signal === 'SIGHUP') return;
    if (isRequested) exitAtOnce(interruptedCode);
    isRequested = true;
    interrupt();
  };
  for (const signal of signals) process.on(signal, handle);
  return () => {
    for (const signal of signals) process.off(signal, handle);
  };
}

const { stdin, stdout, stderr, env } = process;
const argv = process.argv.slice(2);
const environment = {
  stdin,
  stdout,
  stderr,
  env,
  paths: ownPaths(env, env.HOME || homedir()),
  // The build replaces this expression.
  version: process.env.QUARTERDECK_VERSION ?? '0.0.0',
};

/** For what is thrown out of a timer or a stream. */
const onMistake = (thrown: unknown) => {
  listenForMistakes(false);
  reportMistake(thrown, argv, environment).then(
    (exitCode) => exitAtOnce(exitCode),
    () => exitAtOnce(1),
  );
};
function listenForMistakes(listen: boolean): void {
  for (const event of ['uncaughtException', 'unhandledRejection']) process[listen ? 'on' : 'off'](event, onMistake);
}

listenForMistakes(true);
runCommandLine(argv, {
  ...environment,
  createApp: async (options) => {
    const { createApp } = await import('./app/create-app.ts');
    const opening = createApp(options);
    // While the settings and the catalog are read.
    void import('./engine/dockerode-engine.ts').then(() => import('dockerode'));
    return opening;
  },
  openConsole: async (context) => {
    const opened = await context.app();
    // Loading the screen takes as long as an engine needs to answer: what is known by then is on the first frame.
    await opened.fleet.asked(askedLimitMs);
    const { runConsole, openOwnFilters } = await import('./console/run-console.ts');
    const filters = openOwnFilters(context.options);
    await Promise.all([filters.loaded, opened.fleet.settle(AbortSignal.timeout(answeredLimitMs), 'listed').catch(() => undefined)]);
    const app = opened.engineMissing ? await (await import('./cli/practice-offer.ts')).offerPractice(context, opened, stderr) : opened;
    // The console restores the screen first.
    listenForMistakes(false);
    const settings = { ...app.settings, ...(!context.options.colour && { theme: 'mono' as const }) };
    return runConsole(app, settings, { stdin, stdout }, filters).finally(() => listenForMistakes(true));
  },
  onSignal,
}).then((exitCode) => {
  process.exitCode = exitCode;
  setTimeout(exitAtOnce, lingerMs).unref();
});
