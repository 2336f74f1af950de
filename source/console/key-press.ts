/** One key, whatever bytes it came as. */
export interface KeyPress {
  /** Canonical: `j`, `G`, `space`, `enter`, `shift+tab`, `ctrl+d`, `alt+b`, `pagedown`. The names that the key table and the settings use. */
  name: string;
  /** The character it types, empty for keys that type none. */
  text: string;
  /** It came in one read with other keys: typed blindly, or pasted into a terminal that does not mark pastes. */
  together?: true;
}

const named = [
  'enter',
  'esc',
  'tab',
  'shift+tab',
  'space',
  'backspace',
  'delete',
  'up',
  'down',
  'left',
  'right',
  'home',
  'end',
  'pageup',
  'pagedown',
] as const;
const shown: Readonly<Record<string, string>> = {
  enter: 'Enter',
  esc: 'Esc',
  tab: 'Tab',
  'shift+tab': 'Shift-Tab',
  space: 'Space',
  backspace: 'Backspace',
  delete: 'Del',
  up: 'Up',
  down: 'Down',
  left: 'Left',
  right: 'Right',
  home: 'Home',
  end: 'End',
  pageup: 'PgUp',
  pagedown: 'PgDn',
};

export function isKeyName(name: string): boolean {
  return (named as readonly string[]).includes(name) || /^(ctrl|alt)\+[a-z]$/.test(name) || /^[\x21-\x7e]$/.test(name);
}

/** As a person reads it: `Ctrl-D`, `PgDn`, `j`. */
export function keyText(name: string): string {
  const modified = /^(ctrl|alt)\+(.)$/.exec(name);
  if (modified) return `${modified[1] === 'ctrl' ? 'Ctrl' : 'Alt'}-${(modified[2] ?? '').toUpperCase()}`;
  return shown[name] ?? name;
}
