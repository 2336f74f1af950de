import { isOwnFilePrivate } from '../../config/own-files.ts';
import type { ConfigProblem } from '../../config-files/problem.ts';
import { inspectConfig } from '../../config-files/wireguard/inspect-config.ts';
import { makeKeyPair, makePresharedKey } from '../../config-files/wireguard/wireguard-keys.ts';
import { Fault } from '../../faults/fault.ts';
import { showProblems } from '../../flows/catalog/config-problems.ts';
import type { FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { fileOf, fileWord, readNamedFile } from '../../flows/named-file.ts';
import { qrCode } from '../../flows/qr-code.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { quotedWord } from '../../text/quoted-word.ts';
import { type ClientKeys, type ClientSettings, clientConfig, isFullTunnel, serverPeer, wantedOf } from './client/client-config.ts';
import { clientForm } from './wireguard-form.ts';

/** Step name under which a run records the file that it writes, in case it is interrupted. */
const fileStep = 'file-made';
/** Enough time to scan the code with a camera. */
const shownSeconds = 60;

export const wireguardMake: Procedure = async (session, input) => {
  const [name = ''] = wordsUpTo(1, input, { takes: 'Specify one device at a time', remedy: 'Run the command once for each device.' });
  const written = optionOf(input, 'out');
  const out = written === undefined ? undefined : fileOf(written);
  // Checked before any prompt: an existing file is not overwritten, because it may be the only copy of a key.
  if (out !== undefined) await throwIfThere(session, out);
  const wanted = wantedOf(await session.fill(clientForm(name)));
  session.show({ kind: 'text', text: outline(wanted) });
  const isAsked = out === undefined && session.attended && input.options['plain'] !== true;
  const file = isAsked && (await askDelivery(session, wanted)) === 'write' ? await askFile(session, wanted) : out;
  if (file !== undefined) await session.note(fileStep, file);
  const made = await session.act({
    id: 'make',
    right: 'reveal',
    request: `create a key pair${wanted.presharedKey ? ' and a preshared key' : ''} here, and ${file === undefined ? 'show the configuration once' : `write ${cleanLine(file)} and ${cleanLine(peerFile(file))}, readable only by their owner`}`,
    // Both files are complete, or they are written again with new keys: the previous ones were not delivered.
    done: async () => file !== undefined && session.noted(fileStep).includes(file) && (await writtenKey(session, file)) !== undefined,
    run: async (grant) => {
      const keys: ClientKeys = { ...makeKeyPair(), presharedKey: wanted.presharedKey ? makePresharedKey() : undefined };
      session.hide(keys.privateKey);
      if (keys.presharedKey !== undefined) session.hide(keys.presharedKey);
      const config = clientConfig(wanted, keys);
      const peer = serverPeer(wanted, keys);
      if (file === undefined) show(session, wanted, config, peer, input.options['plain'] === true);
      else {
        await localFiles.write(grant, file, Buffer.from(config), { mode: 0o600 });
        await localFiles.write(grant, peerFile(file), Buffer.from(peer), { mode: 0o600 });
      }
      return { publicKey: keys.publicKey };
    },
  });
  if (!made && !session.dryRun && file !== undefined) return outcome(wanted, (await writtenKey(session, file)) ?? '', file);
  if (!made) return { message: 'Dry run: no key was created.', data: publicPart(wanted) };
  return outcome(wanted, made.publicKey, file);
};

async function throwIfThere(session: Session, file: string): Promise<void> {
  // A file that this run wrote before it was interrupted may be replaced.
  if (session.noted(fileStep).includes(file)) return;
  for (const path of [file, peerFile(file)]) {
    if (!(await localFiles.facts(path, session.signal))) continue;
    const message = `${cleanLine(path)} already exists and may contain the only copy of a key.`;
    throw new Fault('refused.fileThere', message, 'Choose another file, or move the existing one.');
  }
}

/** Returns the public key if configuration and server section were both written completely. */
async function writtenKey(session: Session, file: string): Promise<string | undefined> {
  const { signal } = session;
  const [config, peer] = await Promise.all([localFiles.read(file, { signal }), localFiles.read(peerFile(file), { signal })]);
  const { publicKey } = config ? inspectConfig(new TextDecoder().decode(config)) : {};
  return publicKey !== undefined && peer && new TextDecoder().decode(peer).includes(publicKey) ? publicKey : undefined;
}

const peerFile = (file: string): string => `${file.replace(/\.conf$/, '')}.server.conf`;

async function askDelivery(session: Session, { device }: ClientSettings): Promise<string> {
  return session.ask.choice({
    id: 'way',
    label: 'Output',
    help: 'The configuration contains the private key, which Quarterdeck does not store. If you cancel now, nothing is created.',
    choices: [
      { value: 'show', label: device === 'phone' ? 'Show QR code once' : 'Show configuration once', detail: `for ${shownSeconds} seconds` },
      { value: 'write', label: 'Write configuration to a file', detail: 'readable only by its owner' },
    ],
    initial: device === 'phone' ? 'show' : 'write',
  });
}

async function askFile(session: Session, { name }: ClientSettings): Promise<string> {
  const written = await session.ask.text({
    id: 'file',
    label: 'File',
    help: 'wg-quick uses the file name as the interface name, so use at most 15 characters before .conf.',
    initial: `./${name.replace(/[^\w.-]+/g, '-').slice(0, 15) || 'tunnel'}.conf`,
    check: (text) =>
      /(?:^|\/)[a-zA-Z0-9_=+.-]{1,15}\.conf$/.test(text.trim())
        ? undefined
        : 'The file name must have 1 to 15 characters (letters, digits, _ = + . -) before .conf.',
  });
  const file = fileOf(written);
  await throwIfThere(session, file);
  return file;
}

function show(session: Session, wanted: ClientSettings, config: string, peer: string, plain: boolean): void {
  const { name, device, presharedKey } = wanted;
  session.show({
    kind: 'secret',
    label: `Configuration of ${cleanLine(name)}`,
    value: config.trimEnd(),
    secondsLeft: shownSeconds,
    ...(plain && { plain }),
    ...(device === 'phone' && { code: qrCode(config) }),
  });
  if (plain) return;
  if (presharedKey) session.show({ kind: 'secret', label: 'Peer for the server', value: peer.trimEnd(), secondsLeft: shownSeconds });
  else session.show({ kind: 'text', text: `Peer for the server:\n${peer}` });
}

function outline({ device, networks, dns, domains, killSwitch, mtu }: ClientSettings): string {
  // A device with only 0.0.0.0/0 sends IPv6 outside the tunnel.
  const isBoth = [false, true].every((isIpv6) => networks.some((network) => network.endsWith('/0') && network.includes(':') === isIpv6));
  return [
    `${isBoth ? 'All traffic' : `Only traffic to ${networks.join(', ')}`} uses the tunnel.`,
    dns.length === 0
      ? 'The device uses its own DNS servers.'
      : `Names${domains.length > 0 && device === 'linux' && !isFullTunnel(networks) ? ` under ${domains.join(', ')}` : ''} are resolved by ${dns.join(', ')}.`,
    killSwitch ? 'While the tunnel is up, no traffic bypasses it.' : '',
    `MTU ${mtu}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function publicPart({ name, device, addresses, endpoint, networks, dns, domains, killSwitch, mtu }: ClientSettings): object {
  return { name, device, addresses, endpoint, networks, dns, domains, killSwitch, mtu };
}

function outcome(wanted: ClientSettings, publicKey: string, file: string | undefined): FlowOutcome {
  const single = wanted.addresses.map((address) => address.split('/')[0]).join(', ');
  return {
    message:
      file === undefined
        ? `Created a configuration for ${cleanLine(wanted.name)}. Add this peer to the server: public key ${publicKey} (${single})${wanted.presharedKey ? ' and the preshared key' : ''}.`
        : `Wrote ${cleanLine(file)}. Add ${cleanLine(peerFile(file))} to the configuration of the server, then delete that file here.`,
    data: { ...publicPart(wanted), publicKey, ...(file !== undefined && { file, server: peerFile(file) }) },
  };
}

export const wireguardCheck: Procedure = async (session, input) => {
  const { text, file, isOpen } = await configFile(session, input);
  const { problems, facts, publicKey } = inspectConfig(text);
  const open: ConfigProblem = {
    ...{ level: 'error', line: 1, column: 1, field: '' },
    message: 'Other users of this machine can read the file, and any key in it.',
    remedy: `chmod 600 ${quotedWord(file)}`,
  };
  const all = [...(isOpen ? [open] : []), ...problems];
  for (const fact of facts) session.show({ kind: 'text', text: cleanLine(fact) });
  if (publicKey !== undefined) session.show({ kind: 'text', text: `Public key for the peer: ${publicKey}` });
  const { errors, reported } = showProblems(session, file, all);
  return {
    message: all.length === 0 ? `${cleanLine(file)}: no problems found.` : `${cleanLine(file)}: ${reported}.`,
    data: { file, ...(publicKey !== undefined && { publicKey }), facts, problems: all },
    exitCode: errors > 0 ? 1 : 0,
  };
};

async function configFile(session: Session, { words, stdin }: FlowInput): Promise<{ text: string; file: string; isOpen: boolean }> {
  const [word] = wordsUpTo(1, { words }, { takes: 'Check one file at a time', remedy: 'Run the command once for each file.' });
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input', isOpen: false };
  const written = await fileWord(session, word, { label: 'Configuration', help: 'A wg-quick configuration file on this machine.' });
  const { text, file, path } = await readNamedFile(session, written, 'Pass a WireGuard configuration file.');
  return { text, file, isOpen: !(await isOwnFilePrivate(path)) };
}
