import { posix } from 'node:path';
import { isNetwork } from '../../config-files/wireguard/network-words.ts';
import { Fault } from '../../faults/fault.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { fileOf } from '../../flows/named-file.ts';
import { secretName } from '../../flows/secrets/secret-names.ts';
import type { HostFiles } from '../../hosts/host.ts';
import { localFiles } from '../../hosts/local-files.ts';
import { durationProblem, parseDuration } from '../../session/answer-checks.ts';
import type { Session, TextQuestion } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { quotedWord } from '../../text/quoted-word.ts';
import { wordsOf } from '../../text/words.ts';
import type { OverlayMesh } from './client/overlay-book.ts';
import { createCa, inspectCertificates, type NodeRequest, type OverlayCertificate, signNode } from './client/overlay-certificates.ts';
import { bookOf, dayText, endText, jsonOf, meshOf } from './overlay-mesh.ts';

const component = 'overlay-mesh';
const usualAuthority = '1095d';

export const overlayCa: Procedure = async (session, input, context) => {
  const book = bookOf(context, input.engineName);
  const before = await book.read();
  const isOurs = before !== undefined && session.noted('authority').includes(before.authority.name);
  if (before && !isOurs) {
    const message = `The mesh on ${input.engineName} already has a CA: ${cleanLine(before.authority.name)}, ${endText(before.authority.untilMs, Date.now())}.`;
    const remedy = `Nodes in the mesh would reject certificates from another CA. To start a new mesh, move overlay-mesh/${encodeURIComponent(input.engineName)}.json out of the data folder.`;
    throw new Fault('refused.authority', message, remedy);
  }
  const name = await wordOr(session, input, { id: 'name', label: 'Mesh name', initial: 'home mesh' });
  const help = 'When the CA expires, every node needs a new certificate at the same time.';
  const seconds = forOption(input) ?? (await session.ask.duration({ id: 'for', label: 'Validity', initial: usualAuthority, help }));
  const vault = await context.vault(session);
  if (!isOurs) await session.note('authority', name);
  const signed = await session.act({
    id: 'authority',
    right: 'operate',
    request: `nebula-cert ca -name ${quotedWord(name)} -duration ${seconds}s; store the key as ${input.engineName}/${component}/CA_KEY`,
    target: { host: input.engineName, component },
    done: async () => (await book.read()) !== undefined,
    run: async (grant) => {
      const { certificate, key } = await createCa(grant, { name, seconds });
      session.hide(key);
      const [read] = await inspectCertificates(certificate, grant.signal);
      // The key is stored first: a certificate without it is useless.
      await vault.write(grant, secretName(input.engineName, component, 'CA_KEY'), key, 'generated');
      await book.start(grant, { name, certificate, untilMs: read?.untilMs ?? 0 });
      return read;
    },
  });
  const made = await thisOrEarlier(session, signed, async () => (await meshOf(book)).authority.certificate);
  if (!made) return { message: 'Dry run: no CA was created.' };
  return {
    message: `Created the CA ${name}, valid until ${dayText(made.untilMs)}. Its key is in the secret store. To back up the key: quarterdeck secrets export. To sign a node: quarterdeck overlay sign NAME`,
    data: { authority: jsonOf(made) },
  };
};

export const overlaySign: Procedure = async (session, input, context) => {
  const book = bookOf(context, input.engineName);
  await offerAuthority(session, input, context);
  const mesh = await meshOf(book);
  const nowMs = Date.now();
  const { authority } = mesh;
  if (authority.untilMs < nowMs)
    throw new Fault(
      'refused.authority',
      `The CA ${cleanLine(authority.name)} expired on ${dayText(authority.untilMs)}, so nodes reject certificates that it signs.`,
      `To start a new mesh, move overlay-mesh/${encodeURIComponent(input.engineName)}.json out of the data folder. Then create a CA, and sign every node again.`,
    );
  const wanted = await nodeOf(session, input, mesh);
  const asked = await askWhere(session, input, wanted.name);
  const out = asked.out === undefined ? undefined : fileOf(asked.out);
  const installed = asked.install ? await installFolder(session, input, context) : undefined;
  const vault = await context.vault(session);
  const keyName = secretName(input.engineName, component, 'CA_KEY');
  const authorityKey = session.dryRun ? '' : await vault.read(keyName, session.signal);
  if (authorityKey === undefined) {
    const message = `The private key of the CA is not in the secret store (${keyName}).`;
    throw new Fault('failed.overlay', message, 'Import the key from an export: quarterdeck secrets import');
  }
  session.hide(authorityKey);
  const nodeKeyName = secretName(input.engineName, component, `KEY_${wanted.name}`);
  const [begun = new Date(nowMs).toISOString()] = session.noted('begun');
  if (session.noted('begun').length === 0) await session.note('begun', begun);
  const signedNow = async () => (await meshOf(book)).nodes.find(({ name, signedAt }) => name === wanted.name && signedAt >= begun);
  const lists = (['groups', 'subnets'] as const).map((flag) => (wanted[flag].length > 0 ? ` -${flag} ${wanted[flag].join(',')}` : ''));
  const duration = wanted.seconds === undefined ? '' : ` -duration ${wanted.seconds}s`;
  const signed = await session.act({
    id: 'sign',
    right: 'reveal',
    request: [
      `nebula-cert sign -name ${quotedWord(wanted.name)} -ip ${wanted.network}${lists.join('')}${duration}; store the key as ${nodeKeyName}`,
      out === undefined ? '' : `write ca.crt, ${wanted.name}.crt and ${wanted.name}.key into ${cleanLine(out)}`,
      installed === undefined ? '' : `write ca.crt, host.crt and host.key into ${cleanLine(installed.folder)}`,
    ]
      .filter(Boolean)
      .join('; '),
    target: { host: input.engineName, component },
    done: async () => (await signedNow()) !== undefined,
    run: async (grant) => {
      const { certificate, key } = await signNode(grant, { certificate: authority.certificate, key: authorityKey }, wanted);
      session.hide(key);
      const [read] = await inspectCertificates(certificate, grant.signal);
      await vault.write(grant, nodeKeyName, key, 'generated');
      const write = async (files: HostFiles, folder: string, own: string) => {
        const contents = { 'ca.crt': authority.certificate, [`${own}.crt`]: certificate, [`${own}.key`]: key };
        for (const [name, text] of Object.entries(contents))
          await files.write(grant, posix.join(folder, name), Buffer.from(`${text}\n`), { mode: text === key ? 0o600 : 0o644 });
      };
      if (out !== undefined) {
        await localFiles.makeFolder(grant, out, { mode: 0o700 });
        await write(localFiles, out, wanted.name);
      }
      if (installed !== undefined) {
        const { files } = installed.host;
        await files.makeFolder(grant, installed.own, { mode: 0o700 });
        await files.makeFolder(grant, installed.folder, { mode: 0o755 });
        await write(files, installed.folder, 'host');
      }
      // Recorded last: the files of a recorded node have been delivered.
      const { seconds: _, ...node } = wanted;
      await book.add(grant, { ...node, certificate, signedAt: new Date().toISOString(), untilMs: read?.untilMs ?? 0 });
      return read;
    },
  });
  const made = await thisOrEarlier(session, signed, async () => (await signedNow())?.certificate ?? '');
  if (!made) return { message: `Dry run: no certificate was signed for ${wanted.name}.` };
  const next =
    installed !== undefined
      ? ` The files are in ${cleanLine(installed.folder)}. ${installed.deployed ? `Restart ${component} to apply the change.` : `Deploy ${component} to use the files.`}`
      : out !== undefined
        ? ` The files are in ${cleanLine(out)}. Copy them to the node, then delete them here.`
        : ' The key is only in the secret store. To write files, sign a new certificate with --out or --install.';
  return {
    message: `Signed the certificate of ${wanted.name}, valid until ${dayText(made.untilMs)}.${next}`,
    data: { certificate: jsonOf(made), ...(out !== undefined && { folder: out }) },
  };
};

/** Returns the certificate that was signed in this run, or by an earlier run of the same that was interrupted. */
async function thisOrEarlier(session: Session, signed: OverlayCertificate | undefined, recorded: () => Promise<string>) {
  if (signed || session.dryRun) return signed;
  return (await inspectCertificates(await recorded(), session.signal))[0];
}

async function offerAuthority(session: Session, input: FlowInput, context: FlowContext): Promise<void> {
  if (!session.attended || session.dryRun || (await bookOf(context, input.engineName).read())) return;
  const name = await session.ask.text({
    id: 'mesh',
    label: 'Mesh name',
    help: 'This host has no mesh CA yet. A CA is created first, valid for three years (quarterdeck overlay ca).',
    initial: 'home mesh',
    check: (text) => (text.trim() === '' ? 'A name is required.' : undefined),
  });
  const { message } = await overlayCa(session, { ...input, words: [name.trim()], options: { for: usualAuthority } }, context);
  session.show({ kind: 'text', text: message });
}

/** Prompts for what no option sets: a node cannot use a key that is only in the keychain. */
async function askWhere(session: Session, { options, engineName }: FlowInput, name: string) {
  const given = typeof options['out'] === 'string' ? options['out'] : undefined;
  const install = options['install'] === true;
  if (given !== undefined || install || !session.attended) return { out: given, install };
  const where = await askChoice(session, {
    id: 'where',
    label: `Destination for the certificate and key of ${name}`,
    help: 'The key is also stored in the secret store.',
    choices: {
      folder: ['Folder on this machine', 'to copy to the node'],
      install: [`${component} on ${engineName}`, 'already deployed, or to be deployed later'],
      vault: 'Secret store only',
    },
  });
  if (where !== 'folder') return { out: undefined, install: where === 'install' };
  const out = await session.ask.text({
    id: 'folder',
    label: 'Folder',
    help: `ca.crt, ${name}.crt and ${name}.key are written to this folder; only the owner can read the key.`,
    initial: `./${name}`,
    check: (text) => (text.trim() === '' ? 'Enter a folder.' : undefined),
  });
  return { out: out.trim(), install: false };
}

async function installFolder(session: Session, { engineName }: FlowInput, context: FlowContext) {
  const host = context.hostOf(engineName);
  const own = posix.join(await context.stackFolderOf(engineName, session.signal), component);
  const deployed = (await host.files.facts(posix.join(own, 'compose.yaml'), session.signal)) !== undefined;
  return { host, own, folder: posix.join(own, 'files'), deployed };
}

async function nodeOf(session: Session, input: FlowInput, mesh: OverlayMesh): Promise<NodeRequest> {
  const names = mesh.nodes.map((node) => node.name);
  const name = await wordOr(session, input, {
    id: 'name',
    label: 'Node',
    help: names.length > 0 ? `Already signed: ${names.slice(0, 8).join(', ')}. Enter one to renew it.` : 'Name in the mesh, e.g. nas.',
  });
  const before = mesh.nodes.find((node) => node.name === name);
  const networkProblem = (text: string) => {
    const network = text.trim();
    if (!network.includes('/') || !isNetwork(network)) return 'Enter an address with the prefix length of the mesh, e.g. 10.1.0.2/24.';
    const other = mesh.nodes.find((node) => node.name !== name && node.network.split('/')[0] === network.split('/')[0]);
    return other ? `${other.name} already has this address.` : undefined;
  };
  const initial = before?.network ?? nextAddress(mesh);
  const given = optionOf(input, 'ip') ?? (session.attended ? undefined : before?.network);
  if (optionOf(input, 'ip') !== undefined) throwIf('--ip', networkProblem(given ?? ''));
  const network = given ?? (await session.ask.text({ id: 'ip', label: 'Address in the mesh', initial, check: networkProblem }));
  const groups = await groupsOf(session, input, before?.groups ?? []);
  const subnetsGiven = optionOf(input, 'subnets');
  const subnets = subnetsGiven === undefined ? (before?.subnets ?? []) : wordsOf(subnetsGiven);
  for (const one of subnets)
    throwIf('--subnets', one.includes('/') && isNetwork(one) ? undefined : `Use networks such as 10.2.0.0/24, not "${cleanLine(one)}".`);
  const seconds = forOption(input);
  if (seconds !== undefined && Date.now() + seconds * 1000 > mesh.authority.untilMs) {
    const message = `The certificate cannot be valid longer than the CA, which expires on ${dayText(mesh.authority.untilMs)}.`;
    throw new Fault('usage.duration', message, 'Omit --for to use the validity of the CA.');
  }
  return { name, network: network.trim(), groups, subnets, seconds };
}

/** Returns the address after the highest one in use, in the network of the first node. */
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

async function wordOr(session: Session, { words }: FlowInput, question: Pick<TextQuestion, 'id' | 'label' | 'help' | 'initial'>) {
  const [given] = wordsUpTo(1, { words }, { takes: 'Specify one name at a time', remedy: 'Quote a name that contains spaces.' });
  const check = (text: string) =>
    /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(text.trim()) ? undefined : 'Enter 1 to 60 letters, digits, spaces or . _ -';
  return argumentOrPrompt(session, { ...question, check, given, code: 'usage.overlay', remedy: 'Use another name.' });
}

async function groupsOf(session: Session, input: FlowInput, before: readonly string[]): Promise<readonly string[]> {
  const check = (text: string) =>
    wordsOf(text).every((word) => /^[\w.:@-]{1,60}$/.test(word)) ? undefined : 'Use 1 to 60 letters, digits or . : @ _ - for each group.';
  const given = optionOf(input, 'groups');
  if (given !== undefined) throwIf('--groups', check(given));
  if (given === undefined && !session.attended) return before;
  const help = 'Groups for firewall rules, comma-separated, e.g. servers. Optional.';
  return wordsOf(given ?? (await session.ask.text({ id: 'groups', label: 'Groups', help, initial: before.join(', '), check })));
}

function forOption(input: FlowInput): number | undefined {
  const given = optionOf(input, 'for');
  if (given === undefined) return undefined;
  throwIf('--for', durationProblem(given) ?? (parseDuration(given) === 0 ? 'The validity must be longer than 0.' : undefined));
  return parseDuration(given);
}

function throwIf(what: string, problem: string | undefined): void {
  if (problem !== undefined) throw new Fault('usage.overlay', `${what}: ${problem}`, 'Pass another value.');
}
