import { describe, expect, test } from 'vitest';
import { keyTableMarkdown } from '../../test/docs/key-table.ts';
import { Fault } from '../faults/fault.ts';
import { createKeymap } from './keymap.ts';

function faultOf(keys: Record<string, string | string[]>): Fault {
  try {
    createKeymap(keys);
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
  throw new Error('no fault');
}

describe('the key table', () => {
  test('gives no key two meanings at the same time, but for flows of which one is offered', () => {
    const { bindings } = createKeymap();
    const shared = ['list', 'component', 'host', 'everywhere'];
    // A paused component is not running, and one that is not initialised cannot be unsealed.
    const takingTurns = [
      ['pause', 'unpause'],
      ['unseal', 'initialise'],
    ];
    for (const pane of ['components', 'detail', 'ports', 'logs']) {
      const taken = new Map<string, string>();
      for (const binding of bindings.filter(({ context }) => context === pane || shared.includes(context))) {
        for (const key of binding.keys) {
          const other = taken.get(key);
          if (other !== undefined) expect(takingTurns).toContainEqual([other, binding.id]);
          taken.set(key, binding.id);
        }
      }
    }
  });

  test('lets settings give two flows one key no more than anything else', () => {
    expect(faultOf({ stop: 'r' })).toMatchObject({ code: 'usage.keys', message: expect.stringContaining('"r"') });
    expect(() => createKeymap({ pause: 'P', prune: 'Z', unpause: 'alt+p' })).not.toThrow();
  });

  test('is the help and docs/keys.md: every command once, with its keys as people read them', () => {
    const rows = createKeymap().rows();
    expect(rows).toHaveLength(createKeymap().bindings.length);
    expect(rows).toContainEqual({ id: 'quit', keys: 'q Ctrl-C', context: 'Everywhere', title: 'Quit' });
    expect(keyTableMarkdown().split('\n')).toHaveLength(rows.length + 2);
    expect(keyTableMarkdown()).toContain('| `PgDn` `Ctrl-F` | Navigation | Page down | `page-down` |');
  });

  test('takes the operator’s keys in place of its own', () => {
    const keymap = createKeymap({ stop: ['ctrl+x', 'alt+x'], quit: 'Q' });
    expect(keymap.resolve('ctrl+x', ['component'])[0]?.id).toBe('stop');
    expect(keymap.resolve('s', ['component'])).toEqual([]);
    expect(keymap.keyOf('quit')).toBe('Q');
  });

  test('lets two commands swap their keys', () => {
    const keymap = createKeymap({ stop: 'r', restart: 's' });
    expect(keymap.resolve('r', ['component'])[0]?.id).toBe('stop');
  });
});

describe('bad keys in the settings are refused by name', () => {
  test('a command that does not exist', () => {
    const fault = faultOf({ stopp: 's' });
    expect(fault.code).toBe('usage.keys');
    expect(fault.where).toEqual({ field: 'keys.stopp' });
    expect(fault.message).toContain('"stopp"');
    expect(fault.remedy).toContain('stop');
  });

  test('a key that does not exist', () => {
    expect(faultOf({ stop: 'hyper+q' }).message).toBe('keys: "stop" has the invalid key "hyper+q".');
    expect(faultOf({ stop: 'ss' }).code).toBe('usage.keys');
    expect(faultOf({ stop: '\x1b' }).code).toBe('usage.keys');
  });

  test('a key that already means something there', () => {
    const fault = faultOf({ stop: 'q' });
    expect(fault.message).toBe('The key "q" of "stop" is already used by "quit".');
    expect(fault.where).toEqual({ field: 'keys.stop' });
  });

  test('but the same key in panes that are never active together is fine', () => {
    expect(createKeymap({ 'show-owner': 'n' }).resolve('n', ['ports'])[0]?.id).toBe('show-owner');
  });
});
