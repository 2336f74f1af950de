import { Fault } from '../faults/fault.ts';
import { type ChainFinding, type ChainStageView, readChain } from '../fleet/media-chain.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { chainAbout } from './about-chain.ts';
import type { Flow } from './flow.ts';

/** Looks at the five stages of media automation (R55), on all hosts that are looked at, since a library may be on another one than what fills it. */
export const chain: Flow = {
  ...chainAbout,
  async run(session, _input, world) {
    const snapshot = await world.fleet.settle(session.signal, { complete: true });
    const [first] = snapshot.places;
    if (!snapshot.places.some(({ engine }) => engine.reachable))
      throw new Fault({
        code: 'unreachable.engine',
        message: first?.link.message ?? 'No container engine was found on this machine.',
        remedy: first?.link.remedy ?? 'Start Docker or Podman, or set DOCKER_HOST to where the engine listens.',
      });
    const media = await readChain(world.catalog.entries, snapshot, (host, containerId) =>
      world.engineOf(host).inspect(containerId, session.signal),
    );
    session.signal.throwIfAborted();
    const several = snapshot.places.length > 1;
    session.show({
      kind: 'table',
      columns: ['stage', 'component', 'is', 'what it does there'],
      rows: media.stages.flatMap((stage, at) => stageRows(stage, at, several)),
    });
    for (const { level, message, remedy, rule } of media.findings)
      session.show({ kind: 'text', text: cleanLine(`${level}: ${message} ${remedy}${rule === undefined ? '' : ` (${rule})`}`) });
    return { message: summary(media.stages, media.findings, media.whole), data: media, exitCode: media.whole ? 0 : 1 };
  },
};

function stageRows({ title, state, members }: ChainStageView, at: number, several: boolean): string[][] {
  const name = `${at + 1} ${title}`;
  const rows = members.map(({ id, host, word, does, aside }) => [
    several ? `${id} on ${host}` : id,
    word,
    aside ? `${does}; the stage goes on without it` : does,
  ]);
  if (state === 'missing') rows.unshift(['', 'missing', '']);
  return rows.map((row, index) => [index === 0 ? name : '', ...row].map(cleanLine));
}

function summary(stages: readonly ChainStageView[], findings: readonly ChainFinding[], whole: boolean): string {
  if (whole) return 'The chain is whole: every stage is served, and nothing known stands in its way.';
  const of = (state: ChainStageView['state']) => stages.filter((stage) => stage.state === state).length;
  const parts = [
    of('missing') > 0 && `${countText(of('missing'), 'stage')} missing`,
    of('stopped') > 0 && `${countText(of('stopped'), 'stage')} stopped`,
    of('troubled') + of('unknown') > 0 && `${countText(of('troubled') + of('unknown'), 'stage')} not well`,
  ].filter((part) => part !== false);
  const wrong = findings.filter(({ level, to }) => to !== undefined && level !== 'notice').length;
  if (wrong > 0) parts.push(`${wrong} ${wrong === 1 ? 'thing' : 'things'} wrong between stages`);
  return `The chain is broken: ${parts.length === 0 ? `${countText(findings.length, 'finding')}` : parts.join(', ')}.`;
}
