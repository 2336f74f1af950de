import { throwIfNothingAnswers } from '../../fleet/engine-view.ts';
import { type ChainFinding, type ChainStageView, readChain } from '../../fleet/media-chain.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import type { Procedure } from '../flow.ts';

/** Checks the stages of media automation (R55) on all hosts: a library may be on another host than the programs that fill it. */
export const chain: Procedure = async (session, _input, context) => {
  const snapshot = await context.fleet.settle(session.signal, 'complete');
  throwIfNothingAnswers(snapshot);
  const media = await readChain(context.catalog.entries, snapshot, (host, containerId) =>
    context.engineOf(host).inspect(containerId, session.signal),
  );
  session.signal.throwIfAborted();
  const several = snapshot.engines.length > 1;
  session.show({
    kind: 'table',
    columns: ['STAGE', 'COMPONENT', 'IS', 'FUNCTION'],
    rows: media.stages.flatMap((stage, at) => stageRows(stage, at, several)),
  });
  for (const { level, message, remedy } of media.findings)
    session.show({ kind: 'text', text: cleanLine(`${level}: ${message} ${remedy}`) });
  return { message: summary(media.stages, media.findings, media.whole), data: media, exitCode: media.whole ? 0 : 1 };
};

function stageRows({ title, state, members }: ChainStageView, at: number, several: boolean): string[][] {
  const name = `${at + 1} ${title}`;
  const rows = members.map(({ id, host, state: { label }, does, aside }) => [
    several ? `${id} on ${host}` : id,
    label,
    aside ? `${does}; optional for this stage` : does,
  ]);
  if (state === 'missing') rows.unshift(['', 'missing', '']);
  return rows.map((row, index) => [index === 0 ? name : '', ...row].map(cleanLine));
}

function summary(stages: readonly ChainStageView[], findings: readonly ChainFinding[], whole: boolean): string {
  if (whole) return 'The chain is complete: every stage works, and no problems were found.';
  if (stages.every(({ state }) => state === 'works') && findings.every(({ level }) => level !== 'error'))
    return `Every stage works, with ${countText(findings.filter(({ level }) => level === 'warning').length, 'warning')}.`;
  const words = { missing: 'missing', stopped: 'stopped', troubled: 'unhealthy', unknown: 'unknown' };
  const parts = Object.entries(words).flatMap(([state, word]) => {
    const count = stages.filter((stage) => stage.state === state).length;
    return count > 0 ? [`${countText(count, 'stage')} ${word}`] : [];
  });
  const wrong = findings.filter(({ level, to }) => to !== undefined && level !== 'notice').length;
  if (wrong > 0) parts.push(`${countText(wrong, 'problem')} between stages`);
  return `The chain is broken: ${parts.length === 0 ? `${countText(findings.length, 'finding')}` : parts.join(', ')}.`;
}
