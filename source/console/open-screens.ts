import type { ConsoleParts } from './context.ts';
import type { InterfaceState } from './interface-store.ts';
import type { OpenScreen, Screen } from './screen.ts';
import { type ScreenId, screens } from './screens/list.ts';

export interface Opened extends OpenScreen {
  readonly screen: Screen<ScreenId, string, unknown>;
}

export function openScreens(parts: ConsoleParts) {
  const all = (screens as readonly Opened['screen'][]).map((screen): Opened => ({ ...screen.open(parts), screen }));
  const isOn = ({ id, kind, isOn: own }: Opened['screen'], state: InterfaceState) =>
    own ? own(state) : (kind === 'pane' ? state.focus : state.screen) === id;
  const first = (state: InterfaceState, ...kinds: readonly Screen['kind'][]) =>
    all.find(({ screen }) => kinds.includes(screen.kind) && isOn(screen, state)) as Opened;
  return {
    all,
    of: (id: ScreenId): Opened => all.find(({ screen }) => screen.id === id) as Opened,
    /** The screen that receives keys. */
    front: (state: InterfaceState): Opened => first(state, 'whole', 'overlay', 'line', 'body', 'pane'),
    /** The screen that is visible in front: text is typed into the edge of another screen. */
    seen: (state: InterfaceState): Opened => first(state, 'whole', 'overlay', 'body', 'pane'),
    /** The screen below an overlay: the focused pane represents all panes. */
    body: (state: InterfaceState): Opened => first(state, 'body', 'pane'),
  };
}

export type OpenScreens = ReturnType<typeof openScreens>;
