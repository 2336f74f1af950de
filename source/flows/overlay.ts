import { homedir } from 'node:os';
import { join, posix, resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { localFiles } from '../hosts/local-files.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { OverlayBook, type OverlayMesh } from '../products/overlay-book.ts';
import { type NodeWanted, type OverlayCertificate, OverlayCertificates } from '../products/overlay-certificates.ts';
import { isNetwork } from '../products/wireguard/network-words.ts';
import { durationProblem, parseDuration } from '../session/answer-checks.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { durationText } from '../text/quantities.ts';
import { overlayCaAbout, overlayInspectAbout, overlayListAbout, overlaySignAbout } from './about-overlay.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { secretName } from './stack-facts.ts';

const component = 'overlay-mesh';
/** Soon enough to renew by day. */
const soonMs = 30 * 86_400_000;
const limitBytes = 256 * 1024;
const usualAuthority = '1095d';

export const overlayCa: Flow = {
  ...overlayCaAbout,
  async run(session, input, world) {
    const book = bookOf(world, input.place);
    const before = await book.read();
    if (before) {
      throw new Fault({
        code: 'refused.authority',
        message: `The mesh of ${input.place} has an authority: ${cleanLine(before.authority.name)}, ${endText(before.authority.untilMs, Date.now())}.`,
        remedy: 'Certificates of another one would be worth nothing to its nodes. Move its file away to begin a new mesh.',
      });
    }
    const name = await wordOr(session, input, { id: 'name', label: 'What is the mesh called?', initial: 'home mesh' });
    const seconds = await secondsOf(session, input, usualAuthority, 'When it ends, every node needs a new certificate at once.');
    if (seconds === undefined) throw new Error('an authority has an end');
    const vault = await world.vault(session);
    const made = await onThisMachine((certificates) =>
      session.act({
        id: 'authority',
        right: 'operate',
        request: `nebula-cert ca -name ${name} -duration ${seconds}s; keep its key as ${input.place}/${component}/CA_KEY`,
        target: { host: input.place, component },
        done: async () => (await book.read()) !== undefined,
        run: async (grant) => {
          const { certificate, key } = await certificates.makeAuthority(grant, { name, seconds });
          session.hide(key);
          const [read] = await certificates.inspect(certificate, grant.signal);
          // First the key: a certificate without it is worth nothing.
          await vault.write(grant, secretName(input.place, component, 'CA_KEY'), key, 'generated');
          await book.start(grant, { name, certificate, untilMs: read?.untilMs ?? 0 });
          return read;
        },
      }),
    );
    if (!made) return { message: 'Rehearsed: no authority was made.' };
    return {
      message: `${name} can sign nodes, and ends ${dayText(made.untilMs)}. Its key is in the vault: back it up (quarterdeck secrets export). Sign a node: quarterdeck overlay sign NAME`,
      data: { authority: jsonOf(made) },
    };
  },
};

export const overlaySign: Flow = {
  ...overlaySignAbout,
  async run(session, input, world) {
    const book = bookOf(world, input.place);
    const mesh = await meshOf(book);
    const nowMs = Date.now();
    if (mesh.authority.untilMs < nowMs) throw ended(mesh);
    const wanted = await nodeOf(session, input, mesh);
    const out = typeof input.options['out'] === 'string' ? resolve(expandHome(input.options['out'], homedir())) : undefined;
    const installed = input.options['install'] === true ? await installFolder(session, input, world) : undefined;
    const vault = await world.vault(session);
    const keyName = secretName(input.place, component, 'CA_KEY');
    const authorityKey = session.rehearsing ? '' : await vault.read(keyName, session.signal);
    if (authorityKey === undefined)
      throw new Fault({
        code: 'failed.overlay',
        message: `The authority's key is not in the vault (${keyName}).`,
        remedy: 'Import it from an export: quarterdeck secrets import.',
      });
    session.hide(authorityKey);
    const nodeKeyName = secretName(input.place, component, `KEY_${wanted.name}`);
    const made = await onThisMachine((certificates) =>
      session.act({
        id: 'sign',
        right: 'reveal',
        request: [
          `nebula-cert sign -name ${wanted.name} -ip ${wanted.network}${wanted.groups.length > 0 ? ` -groups ${wanted.groups.join(',')}` : ''}; keep its key as ${nodeKeyName}`,
          out === undefined ? '' : `write ca.crt, ${wanted.name}.crt and ${wanted.name}.key into ${cleanLine(out)}`,
          installed === undefined ? '' : `write ca.crt, host.crt and host.key into ${cleanLine(installed.folder)}`,
        ]
          .filter(Boolean)
          .join('; '),
        target: { host: input.place, component },
        run: async (grant) => {
          const { certificate, key } = await certificates.sign(
            grant,
            { certificate: mesh.authority.certificate, key: authorityKey },
            wanted,
          );
          session.hide(key);
          const [read] = await certificates.inspect(certificate, grant.signal);
          await vault.write(grant, nodeKeyName, key, 'generated');
          await book.add(grant, {
            name: wanted.name,
            certificate,
            signedAt: new Date().toISOString(),
            untilMs: read?.untilMs ?? 0,
            network: wanted.network,
            groups: wanted.groups,
            subnets: wanted.subnets,
          });
          const files = (own: string) => [
            { name: 'ca.crt', text: mesh.authority.certificate, mode: 0o644 },
            { name: `${own}.crt`, text: certificate, mode: 0o644 },
            { name: `${own}.key`, text: key, mode: 0o600 },
          ];
          if (out !== undefined) {
            await localFiles.makeFolder(grant, out, { mode: 0o700 });
            for (const { name, text, mode } of files(wanted.name))
              await localFiles.write(grant, join(out, name), Buffer.from(`${text}\n`), { mode });
          }
          if (installed !== undefined)
            for (const { name, text, mode } of files('host'))
              await installed.host.files.write(grant, posix.join(installed.folder, name), Buffer.from(`${text}\n`), { mode });
          return read;
        },
      }),
    );
    if (!made) return { message: `Rehearsed: ${wanted.name} was not signed.` };
    const next =
      installed !== undefined
        ? ` It is in ${cleanLine(installed.folder)}: restart ${component} to put it in force.`
        : out !== undefined
          ? ` It is in ${cleanLine(out)}: carry it to the node, then remove it here.`
          : ' Its key is in the vault alone; --out or --install bring it to the node.';
    return {
      message: `${wanted.name} is signed, and ends ${dayText(made.untilMs)}.${next}`,
      data: { certificate: jsonOf(made), ...(out !== undefined && { folder: out }) },
    };
  },
};

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

async function onThisMachine<T>(use: (certificates: OverlayCertificates) => Promise<T>): Promise<T> {
  const host = openLocalHost();
  try {
    return await use(new OverlayCertificates(host));
  } finally {
    await host.close();
  }
}

function bookOf({ dataFolder }: FlowWorld, place: string): OverlayBook {
  if (dataFolder === undefined) throw new Error('the data folder belongs to the deck');
  return new OverlayBook(dataFolder, place);
}

async function meshOf(book: OverlayBook): Promise<OverlayMesh> {
  const mesh = await book.read();
  if (mesh) return mesh;
  throw new Fault({ code: 'failed.overlay', message: 'This mesh has no authority yet.', remedy: 'Make one: quarterdeck overlay ca' });
}

/** Where the mesh of this host has its files. */
async function installFolder(session: Session, { place }: FlowInput, world: FlowWorld): Promise<{ host: Host; folder: string }> {
  const host = world.hostOf(place);
  const folder = posix.join(await world.stackFolderOf(place, session.signal), component, 'files');
  const facts = await host.files.facts(folder, session.signal);
  if (facts?.kind === 'folder') return { host, folder };
  throw new Fault({
    code: 'refused.notDeployed',
    message: `${component} is not deployed on ${place}: ${cleanLine(folder)} is missing.`,
    remedy: `Deploy it first (quarterdeck deploy ${component}), or take --out FOLDER.`,
  });
}

async function nodeOf(session: Session, input: FlowInput, mesh: OverlayMesh): Promise<NodeWanted> {
  const name = await wordOr(session, input, {
    id: 'name',
    label: 'Which node?',
    help:
      mesh.nodes.length > 0
        ? `Signed already: ${mesh.nodes
            .map((node) => node.name)
            .slice(0, 8)
            .join(', ')}. The same name renews.`
        : 'What it is called in the mesh: nas.',
  });
  const before = mesh.nodes.find((node) => node.name === name);
  const networkProblem = (text: string) => {
    const network = text.trim();
    if (!network.includes('/') || !isNetwork(network)) return 'Write its address with the prefix of the mesh: 10.1.0.2/24';
    const other = mesh.nodes.find((node) => node.name !== name && node.network.split('/')[0] === network.split('/')[0]);
    return other ? `${other.name} has that address.` : undefined;
  };
  const given = input.options['ip'];
  if (typeof given === 'string') throwIf('--ip', networkProblem(given));
  const network =
    typeof given === 'string'
      ? given.trim()
      : before && !session.attended
        ? before.network
        : (
            await session.ask.text({
              id: 'ip',
              label: 'Its address in the mesh',
              initial: before?.network ?? nextAddress(mesh),
              check: networkProblem,
            })
          ).trim();
  const groups = await listOr(
    session,
    input,
    'groups',
    'Groups',
    'What firewall rules call it, with commas: servers. May be empty.',
    before?.groups ?? [],
    (word) => (/^[\w.:@-]{1,60}$/.test(word) ? undefined : 'Letters, digits, dots and dashes.'),
  );
  const subnetsGiven = input.options['subnets'];
  const subnets = typeof subnetsGiven === 'string' ? wordsOf(subnetsGiven) : (before?.subnets ?? []);
  for (const one of subnets) throwIf('--subnets', one.includes('/') && isNetwork(one) ? undefined : `"${cleanLine(one)}" is no network.`);
  const seconds = typeof input.options['for'] === 'string' ? await secondsOf(session, input, '', '') : undefined;
  if (seconds !== undefined && Date.now() + seconds * 1000 > mesh.authority.untilMs)
    throw new Fault({
      code: 'usage.duration',
      message: `None can be good for longer than the authority, which ends ${dayText(mesh.authority.untilMs)}.`,
      remedy: 'Leave --for away: it is then good as long.',
    });
  return { name, network, groups, subnets, seconds };
}

/** The one behind the highest that was given, in the network of the first. */
function nextAddress({ nodes }: OverlayMesh): string {
  const parts = nodes.flatMap(({ network }) => {
    const [, head, last, prefix] = /^(\d+\.\d+\.\d+\.)(\d+)(\/\d+)$/.exec(network) ?? [];
    return head !== undefined && prefix !== undefined ? [{ head, last: Number(last), prefix }] : [];
  });
  const [first] = parts;
  if (!first) return '10.1.0.1/24';
  const highest = Math.max(...parts.filter(({ head }) => head === first.head).map(({ last }) => last));
  return highest < 254 ? `${first.head}${highest + 1}${first.prefix}` : '';
}

async function wordOr(
  session: Session,
  { words }: FlowInput,
  question: { id: string; label: string; help?: string; initial?: string },
): Promise<string> {
  const [word, more] = words;
  if (more !== undefined)
    throw new Fault({
      code: 'usage.words',
      message: `One at a time: "${cleanLine(more)}" is one word too many.`,
      remedy: 'Put a name with spaces into quotes.',
    });
  const check = (text: string) =>
    /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(text.trim()) ? undefined : 'Up to 60 letters, digits, dots and dashes.';
  if (word === undefined) return (await session.ask.text({ ...question, check })).trim();
  throwIf('The name', check(word));
  return word.trim();
}

async function listOr(
  session: Session,
  { options }: FlowInput,
  id: string,
  label: string,
  help: string,
  before: readonly string[],
  each: (word: string) => string | undefined,
): Promise<readonly string[]> {
  const check = (text: string) =>
    wordsOf(text)
      .map(each)
      .find((problem) => problem !== undefined);
  const given = options[id];
  if (typeof given === 'string') {
    throwIf(`--${id}`, check(given));
    return wordsOf(given);
  }
  if (!session.attended) return before;
  return wordsOf(await session.ask.text({ id, label, help, initial: before.join(', '), check }));
}

async function secondsOf(session: Session, { options }: FlowInput, initial: string, help: string): Promise<number | undefined> {
  const given = options['for'];
  if (typeof given !== 'string') return session.ask.duration({ id: 'for', label: 'How long is it good?', initial, help });
  throwIf('--for', durationProblem(given) ?? (parseDuration(given) === 0 ? 'It would be over at once.' : undefined));
  return parseDuration(given);
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function throwIf(what: string, problem: string | undefined): void {
  if (problem !== undefined)
    throw new Fault({ code: 'usage.overlay', message: `${what}: ${problem}`, remedy: 'Look: quarterdeck overlay sign --help' });
}

function ended({ authority }: OverlayMesh): Fault {
  return new Fault({
    code: 'refused.authority',
    message: `The authority ${cleanLine(authority.name)} ended ${dayText(authority.untilMs)}: nobody takes what it signs.`,
    remedy: 'Move its file away, make a new one, and sign every node anew.',
  });
}

function dayText(ms: number): string {
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 10);
}

function endText(untilMs: number, nowMs: number): string {
  if (untilMs < nowMs) return `over since ${durationText(nowMs - untilMs)}`;
  return `${untilMs - nowMs < soonMs ? 'ends soon, ' : ''}${durationText(untilMs - nowMs)} left`;
}

function jsonOf({ fromMs, untilMs, ...one }: OverlayCertificate): object {
  return { ...one, from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() };
}

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
  const path = resolve(expandHome(written.trim(), homedir()));
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes });
  if (!bytes)
    throw new Fault({ code: 'usage.file', message: `There is no file ${cleanLine(path)}.`, remedy: 'Name a certificate of nebula.' });
  return { text: new TextDecoder().decode(bytes), file: cleanLine(written.trim()) };
}
