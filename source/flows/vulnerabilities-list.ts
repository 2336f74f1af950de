import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { scannerStates } from '../fleet/scanner-state.ts';
import { scanRemarks } from '../products/vulnerabilities/feed-state.ts';
import { isLate, isUndecided, type Triaged } from '../products/vulnerabilities/triage.ts';
import { bands } from '../products/vulnerabilities/vulnerability.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { numberText } from '../text/quantities.ts';
import { vulnerabilitiesListAbout } from './about-vulnerabilities.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { componentsBySubject, dueText, narrowed, nothingKnown, triageBookOf, vulnerabilitiesText } from './triage-choice.ts';

const usualLimit = 100;
const settleLimitMs = 5_000;

export const vulnerabilitiesList: Flow = {
  ...vulnerabilitiesListAbout,
  async run(session, input, world) {
    const limit = limitOf(input);
    const nowMs = Date.now();
    const { all, scans } = await triageBookOf(world).read(nowMs);
    if (Object.keys(scans).length === 0) throw nothingKnown();
    const componentOf = componentsBySubject(world.catalog);
    const wanted = narrowed(all, input, componentOf);
    const scanners = scannerStates(await components(session, world));
    const remarks = scanRemarks(scans, nowMs);
    for (const { name, tone, text } of scanners)
      session.show({
        kind: 'item',
        id: `scanner ${name}`,
        title: cleanLine(text),
        state: tone === 'good' ? 'ok' : 'warning',
      });
    for (const [at, text] of remarks.entries())
      session.show({ kind: 'item', id: `remark ${at}`, title: cleanLine(text), state: 'warning' });
    if (wanted.length > 0)
      session.show({
        kind: 'table',
        columns: ['band', 'cvss', 'vulnerability', 'package', 'where', 'deadline', 'standing'],
        align: ['left', 'right', 'left', 'left', 'left', 'left', 'left'],
        rows: wanted.slice(0, limit).map((one) => rowOf(one, componentOf(one.subject), nowMs)),
      });
    const left = wanted.length - limit;
    return {
      message: [
        summaryText(wanted, all.length),
        left > 0 ? `${numberText(left)} more are not shown: narrow it down with words, --band or --late, or see more with --limit.` : '',
      ]
        .filter(Boolean)
        .join(' '),
      data: {
        scans,
        remarks,
        ...(scanners.length > 0 && { scanners }),
        counts: Object.fromEntries(bands.map((band) => [band, wanted.filter((one) => one.band === band).length])),
        late: wanted.filter(isLate).length,
        undecided: wanted.filter(isUndecided).length,
        vulnerabilities: wanted.map((one) => jsonOf(one, componentOf(one.subject))),
      },
    };
  },
};

/** The list is there without an engine too: nobody waits long for one. */
async function components(session: Session, { fleet }: FlowWorld): Promise<readonly ComponentView[]> {
  const signal = AbortSignal.any([session.signal, AbortSignal.timeout(settleLimitMs)]);
  const settled = await fleet.settle(signal, { complete: true }).catch(() => session.signal.throwIfAborted());
  return (settled ?? fleet.snapshot()).components;
}

function rowOf(one: Triaged, component: string | undefined, nowMs: number): string[] {
  const versions = [one.version, one.fixedIn === '' ? '' : `-> ${one.fixedIn}`].filter(Boolean).join(' ');
  return [
    one.band,
    one.score === undefined ? '' : one.score.toFixed(1),
    one.id,
    versions === '' ? one.package : `${one.package} ${versions}`,
    component ?? one.subject,
    dueText(one.dueMs, nowMs),
    one.standing,
  ].map(cleanLine);
}

/** For JSON: times as ISO 8601. */
export function jsonOf(one: Triaged, component: string | undefined): object {
  const { firstMs, dueMs, decision, score, ...rest } = one;
  return {
    ...rest,
    ...(score !== undefined && { score }),
    ...(component !== undefined && { component }),
    first: new Date(firstMs).toISOString(),
    ...(dueMs !== undefined && { due: new Date(dueMs).toISOString() }),
    ...(decision && {
      decision: { what: decision.what, reason: decision.reason, until: decision.until, by: decision.by, at: decision.at },
    }),
  };
}

function summaryText(wanted: readonly Triaged[], known: number): string {
  if (known === 0) return 'Nothing was found by any scanner.';
  if (wanted.length === 0) return `None of the ${numberText(known)} that are known.`;
  const late = wanted.filter(isLate).length;
  const undecided = wanted.filter(isUndecided).length;
  return `${vulnerabilitiesText(wanted.length)}: ${numberText(late)} late, ${numberText(undecided)} undecided.`;
}

function limitOf({ options }: FlowInput): number {
  const written = options['limit'];
  if (written === undefined) return usualLimit;
  if (typeof written === 'string' && /^[1-9]\d{0,6}$/.test(written)) return Number(written);
  throw new Fault({
    code: 'usage.limit',
    message: `--limit takes a number of lines, and "${cleanLine(String(written))}" is none.`,
    remedy: 'For example: --limit 500',
  });
}
