import type { Deck } from '../../terminal/deck.ts';
import { cleanLine } from '../../text/clean.ts';
import { type ChecklistDialog, checklistWays } from '../checklist-dialog.ts';
import { frontRun } from '../flow-runs.ts';
import { type FormDialog, fieldAt } from '../form-dialog.ts';
import { hostItems } from '../hosts-lines.ts';
import type { InterfaceState } from '../interface-store.ts';
import { keyText } from '../key-press.ts';
import type { CommandId, KeyBinding, Keymap } from '../keymap.ts';
import { flowOf, isOffered, offeredActs } from '../offers.ts';
import { actionKeys, type ReviewDialog } from '../review-dialog.ts';
import { shownCode } from '../run-lines.ts';
import { contextsOf, filterTarget, isListScreen, keyTarget } from '../selection.ts';
import { padStyled } from '../styled-text.ts';
import type { Theme } from '../theme.ts';

interface FooterOptions {
  theme: Theme;
  columns: number;
  state: InterfaceState;
  keymap: Keymap;
  deck: Deck;
}

export interface FooterItem {
  key: string;
  label: string;
}

function item(binding: KeyBinding, label = binding.label ?? binding.title): FooterItem {
  return { key: keyText(binding.keys[0] ?? ''), label };
}

/** What a line that is typed can say, where it is more than a text. */
const typeable: Partial<Record<NonNullable<InterfaceState['editing']>['target'], FooterItem[]>> = {
  logs: [
    { key: 'text', label: 'lines with it' },
    { key: '!text', label: 'without it' },
    { key: '/regex/', label: 'matching' },
    { key: '!/regex/', label: 'not matching' },
  ],
  time: [
    { key: '14:02', label: 'a time' },
    { key: '10m', label: 'ago' },
    { key: '2026-11-20 14:02', label: 'of a day' },
  ],
};

type ItemOf = (id: CommandId, label?: string) => FooterItem;

function formItems(dialog: FormDialog, of: ItemOf): { near: FooterItem[]; always: FooterItem[] } {
  if (dialog.leaving) return { near: [of('yes', 'yes, leave')], always: [of('no', 'no'), of('cancel', 'stay')] };
  const field = fieldAt(dialog);
  const near =
    field?.kind === 'choice'
      ? [{ key: `${of('previous-choice').key}/${of('next-choice').key}`, label: 'choose' }, of('next-field', 'next')]
      : [...(field ? [of('accept', 'next')] : []), of('previous-field', 'previous')];
  return { near, always: [...(field ? [of('apply-form', 'go on')] : [of('accept', 'go on')]), of('cancel', 'cancel')] };
}

function reviewItems({ review }: ReviewDialog, of: ItemOf): { near: FooterItem[]; always: FooterItem[] } {
  const actions = actionKeys(review).filter(({ key }) => key !== 'esc' && key !== '');
  const always = actions.map(({ key, label, blocked }) => ({
    key: keyText(key),
    label: `${cleanLine(label)}${blocked === undefined ? '' : ' (blocked)'}`,
  }));
  return {
    near: [of('fold', 'fold'), of('next-section', 'next section'), of('page-down', 'page'), of('fold-all', 'fold all')],
    always: [...always, of('cancel', 'cancel')],
  };
}

function checklistItems(dialog: ChecklistDialog, of: ItemOf): { near: FooterItem[]; always: FooterItem[] } {
  const ways = checklistWays(dialog).map(({ key, label, value }) => ({
    value,
    key: keyText(key),
    label: value === 'again' ? 'look again' : cleanLine(label),
  }));
  const [first] = ways.filter(({ key }) => key === keyText('enter'));
  const others = ways.filter((way) => way !== first && way.value !== 'leave');
  return {
    near: [of('down', 'item'), of('page-down', 'evidence')],
    always: [
      ...(first ? [{ key: first.key, label: first.label.replace(/:.*$/, '').toLowerCase() }] : []),
      ...others,
      of('cancel', 'leave'),
    ],
  };
}

/** What can be done here and now; `drawn` is false for a screen reader. The first ones are the nearest; the last ones always stay. */
export function footerItems({ state, keymap, deck, drawn = true }: Omit<FooterOptions, 'theme' | 'columns'> & { drawn?: boolean }): {
  near: FooterItem[];
  always: FooterItem[];
} {
  const of = (id: CommandId, label?: string) => item(keymap.binding(id), label);
  const front = frontRun(state.runs);
  if (front?.dialog) {
    const { dialog } = front;
    if (dialog.kind === 'confirm') {
      if (dialog.confirmation.lenient) return { near: [of('accept', 'yes, do it')], always: [of('cancel', 'cancel')] };
      if (dialog.confirmation.typed !== undefined) return { near: [of('accept', 'confirm')], always: [of('cancel', 'cancel')] };
      return { near: [of('yes', 'yes, do it')], always: [of('no', 'no'), of('cancel', 'cancel')] };
    }
    if (dialog.kind === 'form') return formItems(dialog, of);
    if (dialog.kind === 'review') return reviewItems(dialog, of);
    if (dialog.kind === 'checklist') return checklistItems(dialog, of);
    const { kind } = dialog.question;
    const near =
      kind === 'several' ? [of('choice-down', 'move'), of('toggle', 'choose')] : kind === 'choice' ? [of('choice-down', 'move')] : [];
    return { near, always: [of('accept', 'continue'), of('cancel', 'cancel')] };
  }
  const codeItems =
    front && shownCode(front) ? [...(drawn ? [of('show-code', 'whole screen')] : []), of('save-code', 'save the QR code')] : [];
  if (front?.state === 'running') return { near: codeItems, always: [of('hide-run', 'hide, it goes on'), of('stop-run', 'cancel it')] };
  const secret = front?.shown.findLast((shown) => shown.kind === 'secret');
  if (front && secret) {
    return { near: secret.value === '' ? [] : [of('copy-secret', 'copy'), ...codeItems], always: [of('accept', 'close')] };
  }
  if (front)
    return { near: front.shown.length > 0 ? [of('page-down', 'page'), of('page-up', 'page')] : [], always: [of('accept', 'close')] };
  if (state.editing) {
    const { target } = state.editing;
    const always = target === 'time' ? [of('accept', 'go there'), of('cancel', 'cancel')] : [of('accept', 'keep'), of('cancel', 'undo')];
    return { near: typeable[target] ?? [], always };
  }
  if (state.screen === 'palette') return { near: [of('choice-down', 'move')], always: [of('accept', 'choose'), of('cancel', 'close')] };
  if (state.screen === 'help')
    return { near: [of('down', 'down'), of('up', 'up'), of('page-down', 'page')], always: [of('back', 'close'), of('quit', 'close')] };
  if (state.screen === 'chain')
    return { near: [of('down', 'down'), of('up', 'up'), of('page-down', 'page')], always: [of('palette'), of('back', 'back')] };
  if (state.screen === 'hosts') {
    const items = hostItems(deck.fleet.snapshot(), deck.tunnels?.all ?? []);
    const chosen = items[Math.min(state.hostsCursor, items.length - 1)];
    const near =
      chosen?.kind === 'tunnel'
        ? [of('copy-tunnel', 'copy'), of('close-tunnel', 'close the tunnel')]
        : [of('show-host', 'its components'), of('retry-host', 'try now')];
    return { near: [...near, of('down', 'down'), of('up', 'up')], always: [of('palette'), of('back', 'back')] };
  }

  if (state.screen === 'catalog' && state.catalog.reading !== undefined)
    return {
      near: [of('page-down', 'page'), of('deploy-entry'), of('copy-entry', 'copy name')],
      always: [of('palette'), of('back', 'back to the list')],
    };
  if (isListScreen(state.screen)) {
    const { screen } = state;
    const near = keymap.bindings.filter(({ context, label }) => context === screen && label).map((binding) => item(binding));
    return { near, always: [of('filter'), of('palette'), of('back', 'back')] };
  }

  const contexts = contextsOf(state);
  const { component, host } = keyTarget(deck, state);
  const { logs } = state;
  const inLog = contexts[0] === 'logs';
  if (inLog && logs.whole !== undefined) {
    return {
      near: [of('down', 'down'), of('up', 'up'), of('page-down', 'page'), of('copy-line')],
      always: [of('back', 'back to the log'), of('help'), of('quit')],
    };
  }
  const filtered = inLog && state.filters.logs !== '';
  const labels: Partial<Record<string, string>> = {
    follow: logs.at === undefined ? 'pause' : 'follow',
    'enter-line': filtered && logs.hides && logs.before === undefined ? 'neighbours' : 'whole line',
  };
  const own = keymap.bindings
    .filter((binding) => binding.label && (binding.context === contexts[0] || binding.context === state.focus))
    .map((binding) => item(binding, labels[binding.id] ?? binding.label));
  if (inLog && logs.before !== undefined) own.unshift(of('back', 'back to the matches'));
  else if (filtered) own.splice(2, 0, of('next-found', 'next'), of('previous-found', 'previous'));
  const acts = offeredActs(deck, keymap, component)
    .filter((binding) => binding.label)
    .map((binding) => item(binding));
  const hostActs = keymap.bindings.flatMap((binding) => {
    const flow = binding.context === 'host' && binding.label && binding.flow ? flowOf(deck, binding.flow) : undefined;
    return flow && isOffered(deck, flow, component, host) ? [item(binding)] : [];
  });
  const near = inLog ? [...own, ...acts] : state.focus === 'components' ? [...acts, ...own] : [...own, ...acts];
  if (component?.speaks === 'crowdsec' && state.focus === 'components') near.unshift(of('prevention', 'alerts and bans'));
  const filter = filterTarget(state) ? [of('filter', state.focus === 'detail' && state.tab === 'inspect' ? 'search' : 'filter')] : [];
  return { near: [...near, ...hostActs], always: [...filter, of('palette'), of('help'), of('quit')] };
}

export function footerLine(options: FooterOptions): string {
  const { theme, columns } = options;
  const { near, always: whole } = footerItems(options);
  const gap = columns >= 100 ? '   ' : '  ';
  const length = ({ key, label }: FooterItem) => key.length + 1 + label.length + gap.length;
  const lengthOf = (items: readonly FooterItem[]) => items.reduce((sum, each) => sum + length(each), 0);
  // What always stays is said in one word each where there is no room for more.
  const always = lengthOf(whole) > columns ? whole.map(({ key, label }) => ({ key, label: label.split(' ')[0] ?? '' })) : whole;
  let room = columns - 1 - lengthOf(always);
  const shown: FooterItem[] = [];
  for (const each of near) {
    if (length(each) > room) continue;
    room -= length(each);
    shown.push(each);
  }
  const text = [...shown, ...always].map(({ key, label }) => `${theme.paint('key', key)} ${theme.paint('faint', label)}`).join(gap);
  return padStyled(` ${text}`, columns);
}
