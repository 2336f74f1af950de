import type { QuarterdeckApp } from '../../../app/app.ts';
import { createListeners } from '../../../faults/listeners.ts';
import type { ChainFinding, ChainMember, ChainStageView, MediaChain } from '../../../fleet/media-chain.ts';
import type { FleetSnapshot, Severity } from '../../../fleet/model.ts';
import { cleanLine } from '../../../text/clean.ts';
import { pad, textWidth } from '../../../text/width.ts';
import { useWatched } from '../../hooks/use-stores.ts';
import { toggled } from '../../panes.ts';
import { type Screen, scrolledText, scrolledTo } from '../../screen.ts';
import { cutStyled, paragraph } from '../../styled-text.ts';
import type { Theme } from '../../theme.ts';
import type { RowSpace } from '../../widgets/table-rows.ts';

/** Shows how a release reaches the library, stage by stage (R55). */
export const chain: Screen<'chain', 'chain', { top: number }> = {
  id: 'chain',
  keys: [{ id: 'chain', keys: ['X'], context: 'everywhere', title: 'Show the media automation chain from request to library', find: true }],
  state: { top: 0 },
  kind: 'body',
  open({ app, store }) {
    const watch = watchChain(app);
    return {
      useChanges: () => useWatched(watch),
      draw({ theme, state, width, height }) {
        const lines = chainLines(watch.view(), { theme, width: width - 2 });
        return { title: chainTitle(watch.view()), ...scrolledText(theme, lines, state.chain.top, Math.max(1, height - 2)) };
      },
      speak: () => ({ lines: chainSentences(watch.view()) }),
      actions: { chain: () => store.update((state) => ({ ...toggled(state, 'chain'), chain: { top: 0 } })) },
      move: (amount, page) => store.update(({ chain: { top } }) => ({ chain: { top: scrolledTo(top, page, amount) } })),
    };
  },
};

const levelSeverities: Readonly<Record<ChainFinding['level'], Severity>> = { error: 'error', warning: 'warning', notice: 'busy' };
const stageSeverities: Readonly<Record<ChainStageView['state'], Severity>> = {
  works: 'ok',
  troubled: 'error',
  stopped: 'error',
  missing: 'error',
  unknown: 'unknown',
};

function chainTitle(chain: MediaChain | undefined): string {
  if (!chain) return 'Media chain';
  return `Media chain: ${chain.whole ? 'complete' : chain.findings.some(({ level }) => level === 'error') ? 'broken' : 'warnings'}`;
}

function chainLines(chain: MediaChain | undefined, { theme, width }: RowSpace): string[] {
  if (!chain) return [` ${theme.paint('faint', 'Checking ...')}`];
  const { glyphs } = theme;
  const all = chain.stages.flatMap(({ members }) => members);
  const several = new Set(all.map(({ host }) => host)).size > 1;
  const nameOf = ({ id, host }: ChainMember) => cleanLine(several ? `${id} on ${host}` : id);
  const widest = (texts: readonly string[], most: number) => Math.min(most, Math.max(0, ...texts.map(textWidth)));
  const labels = all.map(({ state }) => cleanLine(state.label));
  const [names, words] = [widest(all.map(nameOf), 32), widest(labels, 20)];
  const memberLine = (member: ChainMember) => {
    const { severity, label } = member.state;
    const about = cleanLine(member.aside ? `${member.does} (optional for this stage)` : member.does);
    const name = `${theme.paint(severity, glyphs.severity[severity])} ${pad(nameOf(member), names, 'left', glyphs.ellipsis)}`;
    return `     ${name}  ${theme.paint(severity, pad(cleanLine(label), words, 'left', glyphs.ellipsis))}  ${theme.paint('faint', about)}`;
  };
  const lines = chain.stages.flatMap((stage, at) => {
    const before = chain.findings.filter(({ to }) => to === stage.stage);
    const own = chain.findings.filter(({ from, to }) => from === stage.stage && to === undefined);
    const mark = theme.paint(stageSeverities[stage.state], glyphs.severity[stageSeverities[stage.state]]);
    return [
      ...(at > 0 ? [''] : []),
      ...before.flatMap((finding) => findingLines(finding, theme, width, 1)),
      ` ${mark} ${theme.paint('heading', `${at + 1} ${stage.title}`)}${stage.state === 'missing' ? theme.paint('error', '  missing') : ''}`,
      ...stage.members.map(memberLine),
      ...own.flatMap((finding) => findingLines(finding, theme, width, 5)),
    ];
  });
  return lines.map((line) => cutStyled(line, width, glyphs.ellipsis));
}

function findingLines({ level, message, remedy }: ChainFinding, theme: Theme, width: number, indent: number): string[] {
  const severity = levelSeverities[level];
  const blank = ' '.repeat(indent);
  const sign = theme.paint(severity, theme.glyphs.severity[severity]);
  return [
    ...paragraph(theme, severity, message, width - indent - 3, `${blank}${sign} `),
    ...paragraph(theme, 'faint', remedy, width - indent - 3, `${blank}  `),
  ];
}

function chainSentences(chain: MediaChain | undefined): string[] {
  if (!chain) return ['Media chain. Checking.'];
  return [
    `${chainTitle(chain)}.`,
    ...chain.stages.map(({ title, state, members }, at) => {
      const named = members.map((member) => cleanLine(`${member.id}, ${member.state.label}`)).join('; ');
      return `${at + 1}, ${title}: ${state === 'missing' ? 'missing' : named}.`;
    }),
    ...chain.findings.map(({ level, message, remedy }) => cleanLine(`${level}: ${message} ${remedy}`).trim()),
  ];
}

/** While this value stays the same, no engine is queried: mounts and networks change with the container. */
function stateKeyOf({ components, engines }: FleetSnapshot): string {
  return JSON.stringify([
    engines.map(({ name, engine }) => [name, engine.reachable]),
    components.map(({ key, state, serviceState, findings, services }) => [
      ...[key, serviceState, state.severity, state.label, findings.map(({ check }) => check)],
      services.map(({ containerId, cutOff }) => [containerId, cutOff?.why]),
    ]),
  ]);
}

function watchChain({ fleet, catalog, context }: Pick<QuarterdeckApp, 'fleet' | 'catalog' | 'context'>) {
  const { subscribe, notify } = createListeners();
  let view: MediaChain | undefined;
  return {
    view: () => view,
    look() {
      const leaving = new AbortController();
      const { signal } = leaving;
      let seen: string | undefined;
      // A read that was cancelled may end only after the screen is opened again.
      let reading = false;
      const read = async () => {
        if (reading) return;
        reading = true;
        // Changes reported during the read cause another read.
        for (let snapshot = fleet.snapshot(); !signal.aborted && stateKeyOf(snapshot) !== seen; snapshot = fleet.snapshot()) {
          seen = stateKeyOf(snapshot);
          const { readChain } = await import('../../../fleet/media-chain.ts');
          const next = await readChain(catalog.entries, snapshot, async (host, containerId) =>
            context.engineOf(host).inspect(containerId, signal),
          );
          if (signal.aborted) return;
          view = next;
          notify();
        }
        reading = false;
      };
      const stop = fleet.subscribe(() => void read());
      void read();
      return () => {
        stop();
        leaving.abort();
      };
    },
    subscribe,
  };
}
