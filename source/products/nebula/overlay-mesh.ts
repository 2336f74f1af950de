import { Fault } from '../../faults/fault.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { fileWord, readNamedFile } from '../../flows/named-file.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText, durationText } from '../../text/quantities.ts';
import { OverlayBook, type OverlayMesh } from './client/overlay-book.ts';
import { inspectCertificates, type OverlayCertificate, verifyCertificate } from './client/overlay-certificates.ts';

/** Enough time to renew the certificate during working hours. */
export const soonMs = 30 * 86_400_000;

export function bookOf({ dataFolder }: FlowContext, engineName: string): OverlayBook {
  return new OverlayBook(dataFolder, engineName);
}

export async function meshOf(book: OverlayBook): Promise<OverlayMesh> {
  const mesh = await book.read();
  if (mesh) return mesh;
  throw new Fault('failed.overlay', 'This mesh has no CA yet.', 'Create a CA: quarterdeck overlay ca');
}

export const dayText = (ms: number): string => (Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 10));

export function endText(untilMs: number, nowMs: number): string {
  if (untilMs < nowMs) return `expired ${durationText(nowMs - untilMs)} ago`;
  return `${untilMs - nowMs < soonMs ? 'expires soon, ' : ''}${durationText(untilMs - nowMs)} left`;
}

export function jsonOf({ fromMs, untilMs, ...one }: OverlayCertificate): object {
  return { ...one, from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() };
}

export const overlayList: Procedure = async (session, input, context) => {
  const mesh = await bookOf(context, input.engineName).read();
  if (!mesh) return { message: `${input.engineName} has no overlay mesh yet. To create one: quarterdeck overlay ca`, data: { nodes: [] } };
  const nowMs = Date.now();
  const { authority, nodes } = mesh;
  // A certificate is not valid for longer than its authority's.
  const rows = nodes.map((node) => ({ ...node, untilMs: Math.min(node.untilMs, authority.untilMs) })).sort((a, b) => a.untilMs - b.untilMs);
  const all = [{ ...authority, name: `${authority.name} (CA)`, network: '', groups: [] }, ...rows];
  const columns: Columns<(typeof all)[number]> = {
    CERTIFICATE: ({ name }) => cleanLine(name),
    ADDRESS: ({ network }) => cleanLine(network),
    GROUPS: ({ groups }) => cleanLine(groups.join(', ')),
    EXPIRES: ({ untilMs }) => dayText(untilMs),
    '': ({ untilMs }) => endText(untilMs, nowMs),
  };
  showList(session, all, columns);
  const over = all.filter(({ untilMs }) => untilMs < nowMs).length;
  const soon = all.filter(({ untilMs }) => untilMs >= nowMs && untilMs < nowMs + soonMs).length;
  return {
    message:
      over > 0
        ? `Expired: ${over} of ${countText(all.length, 'certificate')}.`
        : soon > 0
          ? `Expiring within 30 days: ${soon} of ${countText(all.length, 'certificate')}.`
          : 'No certificate expires within 30 days.',
    data: {
      authority: { name: authority.name, until: new Date(authority.untilMs).toISOString() },
      nodes: rows.map(({ certificate: _, untilMs, ...node }) => ({ ...node, until: new Date(untilMs).toISOString() })),
    },
    exitCode: over > 0 ? 1 : 0,
  };
};

export const overlayInspect: Procedure = async (session, input, context) => {
  const { text, file } = await certificateFile(session, input);
  const mesh = await bookOf(context, input.engineName).read();
  const nowMs = Date.now();
  const found = await inspectCertificates(text, session.signal);
  const [first] = found;
  if (!first) throw new Fault('usage.file', `${file} contains no certificate.`, 'Pass a file that contains BEGIN NEBULA CERTIFICATE.');
  const authority = first.isAuthority ? undefined : mesh?.authority;
  for (const [at, one] of found.entries()) showCertificate(session, one, at, nowMs);
  const problem = authority && (await verifyCertificate(authority.certificate, text, session.signal));
  if (authority) {
    const item = { kind: 'item', id: 'authority', title: `Signed by ${cleanLine(authority.name)}` } as const;
    session.show(problem === undefined ? { ...item, state: 'ok' } : { ...item, state: 'blocked', evidence: problem });
  }
  const isBad = problem !== undefined || found.some((one) => isOver(one, nowMs));
  return {
    message: `${first.name} ${isBad ? 'is not valid' : authority ? 'is valid' : 'has not expired; its signature was not checked'}.`,
    data: { certificates: found.map(jsonOf), ...(problem !== undefined && { problem }) },
    exitCode: isBad ? 1 : 0,
  };
};

const isOver = ({ fromMs, untilMs }: OverlayCertificate, nowMs: number) => untilMs < nowMs || fromMs > nowMs;

function showCertificate(session: Session, one: OverlayCertificate, at: number, nowMs: number): void {
  session.show({
    kind: 'table',
    title: `${one.name}${one.isAuthority ? ' (CA)' : ''}`,
    columns: ['', ''],
    rows: [
      ['address', one.networks.join(', ')],
      ['groups', one.groups.join(', ')],
      ['networks behind the node', one.subnets.join(', ')],
      ['valid from', dayText(one.fromMs)],
      ['valid until', `${dayText(one.untilMs)}, ${endText(one.untilMs, nowMs)}`],
      ['fingerprint', one.fingerprint],
    ].filter(([, value]) => value !== ''),
  });
  if (!isOver(one, nowMs)) return;
  const evidence = one.fromMs > nowMs ? 'The certificate is not valid yet. Check the clock.' : 'The certificate has expired.';
  session.show({ kind: 'item', id: `end-${at + 1}`, title: one.name, state: 'blocked', evidence });
}

async function certificateFile(session: Session, { words: [word], stdin }: FlowInput): Promise<{ text: string; file: string }> {
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'The input' };
  const written = await fileWord(session, word, { label: 'Certificate', help: 'A certificate file on this machine.' });
  return readNamedFile(session, written, 'Pass a Nebula certificate.');
}
