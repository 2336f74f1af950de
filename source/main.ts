import { homedir } from 'node:os';
import { ownPaths } from './config/paths.ts';
import { runCommandLine, tellMistake } from './terminal/run-command-line.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const interruptedCode = 130;
/** What still hangs after the verb has ended (a keychain that never answers) does not keep the process. */
const lingerMs = 500;

/** The first signal asks to end, the second ends. */
function onSignal(heard: () => void): () => void {
  let asked = false;
  const hear = () => {
    if (asked) process.exit(interruptedCode);
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
    (exitCode) => process.exit(exitCode),
    () => process.exit(1),
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
  openDeck: async (options) => (await import('./terminal/open-deck.ts')).openDeck(options),
  openConsole: async (context) => {
    // Both at once: the screen does not need the deck to be loaded, nor the other way round.
    const [{ runConsole, filters }, opened] = await Promise.all([
      import('./console/run-console.tsx').then((loaded) => ({ ...loaded, filters: loaded.openOwnFilters(context.options) })),
      context.deck(),
    ]);
    await filters.loaded;
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
  setTimeout(() => process.exit(), lingerMs).unref();
});
