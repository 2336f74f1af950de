import { catalog } from './catalog/screen.ts';
import { chain } from './chain/screen.ts';
import { checklist } from './checklist/screen.ts';
import { code } from './code/screen.ts';
import { components } from './components/screen.ts';
import { detail } from './detail/screen.ts';
import { filter } from './filter/screen.ts';
import { form } from './form/screen.ts';
import { help } from './help/screen.ts';
import { hosts } from './hosts/screen.ts';
import { logs } from './logs/screen.ts';
import { palette } from './palette/screen.ts';
import { ports } from './ports/screen.ts';
import { prevention } from './prevention/screen.ts';
import { review } from './review/screen.ts';
import { run } from './run/screen.ts';
import { triage } from './triage/screen.ts';

/** All screens, in order of precedence: prompts of a flow, text input, opened screens, the panes. Keys are listed in this order too. */
export const screens = [
  code,
  form,
  review,
  checklist,
  run,
  filter,
  palette,
  help,
  hosts,
  triage,
  catalog,
  chain,
  prevention,
  components,
  detail,
  ports,
  logs,
] as const;

type AnyScreen = (typeof screens)[number];

export type ScreenId = AnyScreen['id'];
export type ListScreenId = Extract<AnyScreen, { filtered: true }>['id'];
export type ScreenCommandId = NonNullable<AnyScreen['keys']>[number]['id'];

export type ScreenStates = { readonly [S in AnyScreen as S['state'] extends undefined ? never : S['id']]: NonNullable<S['state']> };
