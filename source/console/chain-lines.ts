import type { ChainFinding, ChainMember, ChainStageView, MediaChain } from '../fleet/media-chain.ts';
import type { Tone } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { pad, textWidth, wrap } from '../text/width.ts';
import { cutStyled } from './styled-text.ts';
import type { Theme } from './theme.ts';

const levelTones: Readonly<Record<ChainFinding['level'], Tone>> = { error: 'bad', warning: 'warn', notice: 'busy' };
const stageTones: Readonly<Record<ChainStageView['state'], Tone>> = {
  works: 'good',
  troubled: 'bad',
  stopped: 'bad',
  missing: 'bad',
  unknown: 'unknown',
};

export function chainTitle(chain: MediaChain | undefined): string {
  if (!chain) return 'Media chain';
  return chain.whole ? 'Media chain: whole' : 'Media chain: broken';
}

/** The five stages below each other, what is wrong with one below it, and what is wrong between two between them. */
export function chainLines(chain: MediaChain | undefined, { theme, width }: { theme: Theme; width: number }): string[] {
  if (!chain) return [` ${theme.paint('faint', 'Looking at it ...')}`];
  const { glyphs } = theme;
  const all = chain.stages.flatMap(({ members }) => members);
  const several = new Set(all.map(({ host }) => host)).size > 1;
  const nameOf = ({ id, host }: ChainMember) => cleanLine(several ? `${id} on ${host}` : id);
  const widest = (texts: readonly string[], most: number) => Math.min(most, Math.max(0, ...texts.map(textWidth)));
  const columns = [
    widest(all.map(nameOf), 32),
    widest(
      all.map(({ word }) => cleanLine(word)),
      20,
    ),
  ] as const;
  const lines = chain.stages.flatMap((stage, at) => {
    const before = chain.findings.filter(({ to }) => to === stage.stage);
    const own = chain.findings.filter(({ from, to }) => from === stage.stage && to === undefined);
    const mark = theme.paint(stageTones[stage.state], glyphs.tone[stageTones[stage.state]]);
    return [
      ...(at > 0 ? [''] : []),
      ...before.flatMap((finding) => findingLines(finding, theme, width, 1)),
      ` ${mark} ${theme.paint('heading', `${at + 1} ${stage.title}`)}${stage.state === 'missing' ? theme.paint('bad', '  missing') : ''}`,
      ...stage.members.map((member) => memberLine(member, nameOf(member), columns, theme)),
      ...own.flatMap((finding) => findingLines(finding, theme, width, 5)),
    ];
  });
  return lines.map((line) => cutStyled(line, width, glyphs.ellipsis));
}

function memberLine(
  { tone, word, does, aside }: ChainMember,
  name: string,
  [names, words]: readonly [number, number],
  theme: Theme,
): string {
  const { glyphs } = theme;
  const about = cleanLine(aside ? `${does} (the stage goes on without it)` : does);
  const cells = [theme.paint(tone, glyphs.tone[tone]), pad(name, names, 'left', glyphs.ellipsis)];
  return `     ${cells.join(' ')}  ${theme.paint(tone, pad(cleanLine(word), words, 'left', glyphs.ellipsis))}  ${theme.paint('faint', about)}`;
}

function findingLines({ level, message, remedy }: ChainFinding, theme: Theme, width: number, indent: number): string[] {
  const tone = levelTones[level];
  const blank = ' '.repeat(indent);
  const [first = '', ...more] = wrap(cleanLine(message), Math.max(1, width - indent - 3));
  return [
    `${blank}${theme.paint(tone, `${theme.glyphs.tone[tone]} ${first}`)}`,
    ...more.map((line) => `${blank}  ${theme.paint(tone, line)}`),
    ...(remedy === ''
      ? []
      : wrap(cleanLine(remedy), Math.max(1, width - indent - 3)).map((line) => `${blank}  ${theme.paint('faint', line)}`)),
  ];
}

/** For who listens instead of looking. */
export function chainSentences(chain: MediaChain | undefined): string[] {
  if (!chain) return ['Media chain. Looking at it.'];
  return [
    `${chainTitle(chain)}.`,
    ...chain.stages.map(
      ({ title, state, members }, at) =>
        `${at + 1}, ${title}: ${state === 'missing' ? 'missing' : members.map(({ id, word }) => cleanLine(`${id}, ${word}`)).join('; ')}.`,
    ),
    ...chain.findings.map(({ level, message, remedy }) => cleanLine(`${level}: ${message} ${remedy}`).trim()),
  ];
}
