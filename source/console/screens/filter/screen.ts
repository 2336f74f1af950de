import type { InterfaceState } from '../../interface-store.ts';
import type { FooterItem, Screen } from '../../screen.ts';
import { editField, fieldOf, pasteInto, type TextField } from '../../text-field.ts';

type Editing = NonNullable<InterfaceState['editing']>;

const typeable: Partial<Record<Editing['target'], FooterItem[]>> = {
  logs: [
    { key: 'text', label: 'contains' },
    { key: '!text', label: 'does not contain' },
    { key: '/regex/', label: 'matches' },
    { key: '!/regex/', label: 'does not match' },
  ],
  time: [
    { key: '14:02', label: 'a time' },
    { key: '10m', label: 'ago' },
    { key: '2026-11-20 14:02', label: 'on a day' },
  ],
};

export const filter: Screen<'filter'> = {
  id: 'filter',
  kind: 'line',
  isOn: ({ editing }) => editing !== undefined,
  open(parts) {
    const { store, keymap, commands } = parts;
    const { logActions } = commands;

    function typed(field: TextField): void {
      store.update(({ editing, filters }) => {
        if (!editing) return {};
        const { target, before } = editing;
        // The error of a time is shown until it is changed.
        if (target === 'time') return { editing: { target, field, before } };
        return { editing: { ...editing, field }, filters: { ...filters, [target]: field.text } };
      });
    }

    function accept(editing: Editing): void {
      const { target, field } = editing;
      if (target === 'logs' && !logActions.acceptable()) return;
      const problem = target === 'time' ? logActions.jump(field.text) : undefined;
      store.update(() => ({ editing: problem === undefined ? undefined : { ...editing, problem } }));
      if (target === 'logs') logActions.typed();
    }

    function cancel({ target, before }: Editing): void {
      store.update(({ filters }) => ({ editing: undefined, ...(target !== 'time' && { filters: { ...filters, [target]: before } }) }));
      if (target === 'logs') logActions.typed();
    }

    return {
      footer({ state: { editing }, of }) {
        const always =
          editing?.target === 'time' ? [of('accept', 'go to it'), of('cancel', 'cancel')] : [of('accept', 'keep'), of('cancel', 'undo')];
        return { items: (editing && typeable[editing.target]) ?? [], always };
      },
      actions: {
        filter() {
          const target = commands.filterTarget();
          if (!target) return commands.say('off', 'Nothing to filter here.');
          store.update(({ filters }) => ({ editing: { target, field: fieldOf(filters[target]), before: filters[target] } }));
        },
      },
      press(press) {
        const { editing } = store.get();
        if (!editing) return false;
        if (keymap.is(press, 'accept')) accept(editing);
        else if (keymap.is(press, 'cancel')) cancel(editing);
        else {
          const field = editField(editing.field, press);
          if (field) typed(field);
          if (editing.target === 'logs' && field && field.text !== editing.field.text) logActions.typing();
        }
        const now = store.get();
        if (now.editing) parts.screens.seen(now).searched?.();
        return true;
      },
      paste(text) {
        const { editing } = store.get();
        if (!editing) return false;
        typed(pasteInto(editing.field, text));
        if (editing.target === 'logs') logActions.typing();
        return true;
      },
    };
  },
};
