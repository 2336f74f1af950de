import { frontRun } from '../../front-run.ts';
import type { InterfaceState } from '../../interface-store.ts';
import type { Screen } from '../../screen.ts';
import { codeScreen, shownCode } from '../run/lines.ts';
import { pressSecret } from '../run/screen.ts';

const runIn = ({ runs }: InterfaceState) => {
  const run = frontRun(runs);
  return run?.codeAlone && !run.dialog && shownCode(run) ? run : undefined;
};

export const code: Screen<'code'> = {
  id: 'code',
  kind: 'whole',
  ofRun: true,
  isOn: (state) => runIn(state) !== undefined,
  open(parts) {
    const { store, keymap, commands } = parts;
    return {
      draw(view) {
        const run = runIn(view.state);
        return { title: '', rows: run ? codeScreen(run, keymap, view) : [] };
      },
      press(press) {
        const run = runIn(store.get());
        const isClosing = (['show-code', 'accept', 'back', 'quit', 'cancel'] as const).some((id) => keymap.is(press, id));
        // Keys do not act on the screens hidden below the code.
        if (run && !pressSecret(parts, run, press) && isClosing) commands.runs.change(run.id, () => ({ codeAlone: false }));
        return true;
      },
    };
  },
};
