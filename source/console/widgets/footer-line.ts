import { paneContexts } from '../commands.ts';
import type { ConsoleParts } from '../context.ts';
import type { InterfaceState } from '../interface-store.ts';
import { keyText } from '../key-press.ts';
import type { CommandId, KeyBinding } from '../keymap.ts';
import { flowOf, isOffered, offeredActs } from '../offers.ts';
import type { Footer, FooterItem, FooterView } from '../screen.ts';
import { padStyled } from '../styled-text.ts';

function item(binding: KeyBinding, label = binding.label ?? binding.title): FooterItem {
  return { key: keyText(binding.keys[0] ?? ''), label };
}

export function footerOf(parts: ConsoleParts, state: InterfaceState, drawn = true): Footer {
  const { keymap, screens } = parts;
  const of = (id: CommandId, label?: string) => item(keymap.binding(id), label);
  const view = { state, drawn, of };
  const { screen, footer } = screens.front(state);
  const own = footer?.(view);
  if (own) return own;
  if (screen.kind === 'pane') return paneFooter(parts, view);
  const items = keymap.bindings.filter(({ context, label }) => context === screen.id && label).map((binding) => item(binding));
  const always = [of('palette'), of('back', 'back')];
  if (screen.filtered) return { items, always: [of('filter'), ...always] };
  return { items: [of('down', 'down'), of('up', 'up'), of('page-down', 'page')], always };
}

function paneFooter({ app, keymap, commands }: ConsoleParts, { state, of }: FooterView): Footer {
  const contexts = paneContexts(state);
  const { component, host } = commands.target();
  const { logs } = state;
  const inLog = contexts[0] === 'logs';
  if (inLog && logs.whole !== undefined) {
    return {
      items: [of('down', 'down'), of('up', 'up'), of('page-down', 'page'), of('copy-line')],
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
  const acts = offeredActs(app, keymap, component)
    .filter((binding) => binding.label)
    .map((binding) => item(binding));
  const hostActs = keymap.bindings.flatMap((binding) => {
    const flow = binding.context === 'host' && binding.label && binding.flow ? flowOf(app, binding.flow) : undefined;
    return flow && isOffered(app, flow, component, host) ? [item(binding)] : [];
  });
  const items = inLog ? [...own, ...acts] : state.focus === 'components' ? [...acts, ...own] : [...own, ...acts];
  if (component?.speaks === 'crowdsec' && state.focus === 'components') items.unshift(of('prevention', 'alerts and bans'));
  const filter = commands.filterTarget() ? [of('filter', state.focus === 'detail' && state.tab === 'inspect' ? 'search' : 'filter')] : [];
  return { items: [...items, ...hostActs], always: [...filter, of('palette'), of('help'), of('quit')] };
}

export function footerLine(parts: ConsoleParts, state: InterfaceState, columns: number): string {
  const { theme } = parts;
  const { items, always: whole } = footerOf(parts, state);
  const gap = columns >= 100 ? '   ' : '  ';
  const length = ({ key, label }: FooterItem) => key.length + 1 + label.length + gap.length;
  const lengthOf = (items: readonly FooterItem[]) => items.reduce((sum, each) => sum + length(each), 0);
  // Permanent items are reduced to one word each when space is short.
  const always = lengthOf(whole) > columns ? whole.map(({ key, label }) => ({ key, label: label.split(' ')[0] ?? '' })) : whole;
  let room = columns - 1 - lengthOf(always);
  const shown: FooterItem[] = [];
  for (const each of items) {
    if (length(each) > room) continue;
    room -= length(each);
    shown.push(each);
  }
  const text = [...shown, ...always].map(({ key, label }) => `${theme.paint('key', key)} ${theme.paint('faint', label)}`).join(gap);
  return padStyled(` ${text}`, columns);
}
