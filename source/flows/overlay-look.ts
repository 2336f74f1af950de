import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { overlayInspectAbout, overlayListAbout } from './about-overlay.ts';
import type { Flow, FlowInput } from './flow.ts';
import { readNamedFile } from './named-file.ts';
import { bookOf, dayText, endText, jsonOf, onThisMachine, soonMs } from './overlay-mesh.ts';

export const overlayList: Flow = {
  ...overlayListAbout,
  async run(session, input, world) {
    const mesh = await bookOf(world, input.place).read();
    if (!mesh) return { message: `${input.place} has no overlay mesh of its own yet: quarterdeck overlay ca`, data: { nodes: [] } };
    const nowMs = Date.now();
    const { authority, nodes } = mesh;
    // None is good for longer than the authority.
    const rows = nodes
      .map((node) => ({ ...node, untilMs: Math.min(node.untilMs, authority.untilMs) }))
      .sort((a, b) => a.untilMs - b.untilMs);
    session.show({
      kind: 'table',
      columns: ['certificate', 'address', 'groups', 'ends', ''],
      rows: [
        [`${authority.name} (authority)`, '', '', dayText(authority.untilMs), endText(authority.untilMs, nowMs)],
        ...rows.map(({ name, network, groups, untilMs }) => [name, network, groups.join(', '), dayText(untilMs), endText(untilMs, nowMs)]),
      ].map((row) => row.map(cleanLine)),
    });
    const over = [authority, ...rows].filter(({ untilMs }) => untilMs < nowMs).length;
    const soon = [authority, ...rows].filter(({ untilMs }) => untilMs >= nowMs && untilMs < nowMs + soonMs).length;
    return {
      message:
        over > 0
          ? `${over} of ${rows.length + 1} certificates are over.`
          : soon > 0
            ? `${soon} of ${rows.length + 1} certificates end within 30 days: sign them anew.`
            : 'All certificates are good for more than 30 days.',
      data: {
        authority: { name: authority.name, until: new Date(authority.untilMs).toISOString() },
        nodes: rows.map(({ name, network, groups, subnets, untilMs, signedAt }) => ({
          name,
          network,
          groups,
          subnets,
          signedAt,
          until: new Date(untilMs).toISOString(),
        })),
      },
      exitCode: over > 0 ? 1 : 0,
    };
  },
};

export const overlayInspect: Flow = {
  ...overlayInspectAbout,
  async run(session, input, world) {
    const { text, file } = await certificateFile(session, input);
    const mesh = await bookOf(world, input.place).read();
    const nowMs = Date.now();
    return onThisMachine(async (certificates) => {
      const found = await certificates.inspect(text, session.signal);
      const [first] = found;
      if (!first)
        throw new Fault({
          code: 'usage.file',
          message: `${file} holds no certificate.`,
          remedy: 'Name a file with BEGIN NEBULA CERTIFICATE.',
        });
      let isBad = false;
      for (const [at, one] of found.entries()) {
        const isOver = one.untilMs < nowMs || one.fromMs > nowMs;
        isBad ||= isOver;
        session.show({
          kind: 'table',
          title: `${one.name}${one.isAuthority ? ' (authority)' : ''}`,
          columns: ['', ''],
          rows: [
            ['address', one.networks.join(', ')],
            ['groups', one.groups.join(', ')],
            ['networks behind it', one.subnets.join(', ')],
            ['good from', dayText(one.fromMs)],
            ['until', `${dayText(one.untilMs)}, ${endText(one.untilMs, nowMs)}`],
            ['fingerprint', one.fingerprint],
          ].filter(([, value]) => value !== ''),
        });
        if (isOver)
          session.show({
            kind: 'item',
            id: `end-${at + 1}`,
            title: one.name,
            state: 'blocked',
            evidence: one.fromMs > nowMs ? 'It is not good yet: look at the clock.' : 'It is over: sign it anew.',
          });
      }
      const problem = mesh && !first.isAuthority ? await certificates.verify(mesh.authority.certificate, text, session.signal) : undefined;
      if (mesh && !first.isAuthority) {
        isBad ||= problem !== undefined;
        session.show({
          kind: 'item',
          id: 'authority',
          title: `Signed by ${cleanLine(mesh.authority.name)}`,
          state: problem === undefined ? 'ok' : 'blocked',
          ...(problem !== undefined && { evidence: problem }),
        });
      }
      return {
        message: isBad ? `${first.name}: it is not good.` : `${first.name}: it is good.`,
        data: { certificates: found.map(jsonOf), ...(problem !== undefined && { problem }) },
        exitCode: isBad ? 1 : 0,
      };
    });
  },
};

async function certificateFile(session: Session, { words, stdin }: FlowInput): Promise<{ text: string; file: string }> {
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input' };
  const [word] = words;
  const written =
    word ??
    (await session.ask.text({
      id: 'file',
      label: 'Which certificate?',
      help: 'A file of this machine.',
      check: (text) => (text.trim() === '' ? 'Name a file.' : undefined),
    }));
  return readNamedFile(session, written.trim(), 'Name a certificate of nebula.');
}
