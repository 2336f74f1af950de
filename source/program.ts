import { homedir } from 'node:os';
import { ownPaths } from './config/paths.ts';
import { runCommandLine } from './terminal/run-command-line.ts';

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
process.exitCode = await runCommandLine(process.argv.slice(2), {
  stdin,
  stdout,
  stderr,
  env,
  paths: ownPaths(env, env.HOME || homedir()),
  // The build puts it in, in exactly these words.
  version: process.env.QUARTERDECK_VERSION ?? '0.0.0',
  openDeck: async (options) => (await import('./terminal/open-deck.ts')).openDeck(options),
  openConsole: async (context) => {
    // Both at once: the screen does not need the deck to be loaded, nor the other way round.
    const [{ runConsole }, deck] = await Promise.all([import('./console/run-console.tsx'), context.deck()]);
    return runConsole(deck, context.options.colour ? deck.settings : { ...deck.settings, theme: 'mono' }, { stdin, stdout });
  },
  onSignal,
});
setTimeout(() => process.exit(), lingerMs).unref();
