export interface KeyPress {
  /** Canonical: `j`, `G`, `space`, `enter`, `shift+tab`, `ctrl+d`, `alt+b`, `pagedown`. The key table and the settings use these names. */
  name: string;
  text: string;
  /** The key came in one read with others: typed ahead, or pasted into a terminal without bracketed paste. */
  together?: true;
}

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
  return Object.hasOwn(shown, name) || /^(ctrl|alt)\+[a-z]$/.test(name) || /^[\x21-\x7e]$/.test(name);
}

export function keyText(name: string): string {
  const modified = /^(ctrl|alt)\+(.)$/.exec(name);
  if (modified) return `${modified[1] === 'ctrl' ? 'Ctrl' : 'Alt'}-${(modified[2] ?? '').toUpperCase()}`;
  return shown[name] ?? name;
}
