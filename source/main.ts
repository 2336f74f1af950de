import { homedir } from 'node:os';
import { ownPaths } from './config/paths.ts';
import { runCommandLine, tellMistake } from './terminal/run-command-line.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const interruptedCode = 130;
/** What still hangs after the verb has ended (a keychain that never answers) does not keep the process. */
const lingerMs = 500;
/** An engine on this machine is asked, and has answered, in less; nobody waits longer for the first frame. */
const askedLimitMs = 40;
const answeredLimitMs = 25;

/**
 * Ends the process although a thread of it hangs. Node waits for all of its threads when it ends, also for one that a keychain never answers; a program
 * that takes the place of the process does not.
 */
function exitAtOnce(code?: number): void {
  const { execve } = process;
  if (execve)
    Object.assign(process, {
      reallyExit: (exitCode: number) => execve.call(process, '/bin/sh', ['sh', '-c', `exit ${exitCode}`], process.env),
    });
  process.exit(code);
}

/** The first signal asks to end, the second ends. Not that of a window which is closed: the shell, the terminal and the kernel all send it. */
function onSignal(heard: () => void): () => void {
  let asked = false;
  const hear = (signal: NodeJS.Signals) => {
    if (asked && signal === 'SIGHUP') return;
    if (asked) exitAtOnce(interruptedCode);
    asked = true;
    heard();
  };
  for (const signal of signals) process.on(signal, hear);
  return () => {
    for (const signal of signals) process.off(signal, hear);
  };
}

const { stdin, stdout, stderr, env } = process;
const argv = process.argv.slice(2);
const around = {
  stdin,
  stdout,
  stderr,
  env,
  paths: ownPaths(env, env.HOME || homedir()),
  // The build puts it in, in exactly these words.
  version: process.env.QUARTERDECK_VERSION ?? '0.0.0',
};

/** Nobody waits for what is thrown out of a timer or a stream. */
const onMistake = (thrown: unknown) => {
  listenForMistakes(false);
  tellMistake(thrown, argv, around).then(
    (exitCode) => exitAtOnce(exitCode),
    () => exitAtOnce(1),
  );
};
function listenForMistakes(listen: boolean): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    if (listen) process.on(event, onMistake);
    else process.off(event, onMistake);
  }
}

listenForMistakes(true);
runCommandLine(argv, {
  ...around,
  openDeck: async (options) => {
    const { openDeck } = await import('./terminal/open-deck.ts');
    const opening = openDeck(options);
    // While the settings and the catalog are read.
    void import('./engine/dockerode-engine.ts').then(() => import('dockerode'));
    return opening;
  },
  openConsole: async (context) => {
    const opened = await context.deck();
    // Loading the screen takes the thread for as long as an engine needs for its answers, and what is known by then is on the first frame.
    await opened.fleet.asked(askedLimitMs);
    const { runConsole, openOwnFilters } = await import('./console/run-console.tsx');
    const filters = openOwnFilters(context.options);
    await Promise.all([filters.loaded, opened.fleet.settle(AbortSignal.timeout(answeredLimitMs), { listed: true }).catch(() => undefined)]);
    const deck = opened.engineMissing
      ? await (await import('./terminal/practice-offer.ts')).offerPractice(context, opened, stderr)
      : opened;
    // The console has a screen to restore before it can tell.
    listenForMistakes(false);
    const settings = {
      ...deck.settings,
      ...(!context.options.colour && { theme: 'mono' as const }),
      practice: deck.options.practice !== undefined,
    };
    return runConsole(deck, settings, { stdin, stdout }, filters).finally(() => listenForMistakes(true));
  },
  onSignal,
}).then((exitCode) => {
  process.exitCode = exitCode;
  setTimeout(exitAtOnce, lingerMs).unref();
});
