import { type Instance, render } from 'ink';
import { Console } from './console.tsx';
import { ConsoleContext, type ConsoleParts } from './context.ts';
import { frameOutput } from './frame-output.ts';
import type { Size } from './layout.ts';
import type { TerminalLoans } from './terminal-loan.ts';

interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  terminalLoans: TerminalLoans;
  spoken: boolean;
  shown: Size | undefined;
}

/** Hands the terminal to Ink. Loaded after the first frame: see `first-frame.ts`. */
export function mountConsole(parts: ConsoleParts, { stdin, stdout, terminalLoans, spoken, shown }: Terminal): Instance {
  return render(
    <ConsoleContext value={parts}>
      <Console terminalLoans={terminalLoans} />
    </ConsoleContext>,
    {
      stdin,
      stdout: frameOutput(stdout, parts.frames.written, shown),
      exitOnCtrlC: false,
      patchConsole: false,
      interactive: true,
      alternateScreen: !spoken,
      incrementalRendering: true,
      isScreenReaderEnabled: spoken,
      // `frames.ts` limits the frame rate; a second limit here would interfere.
      maxFps: 1000,
    },
  );
}
