import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { type ClientKeys, type ClientWanted, clientConfig, isFullTunnel, serverPeer } from '../products/wireguard/client-config.ts';
import { inspectConfig } from '../products/wireguard/inspect-config.ts';
import { makeKeyPair, makePresharedKey } from '../products/wireguard/wireguard-keys.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { wireguardMakeAbout } from './about-wireguard.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { qrCode } from './qr-code.ts';
import { clientForm, wantedOf } from './wireguard-form.ts';

/** Under which it is kept to which file a run writes, for the case that it breaks off. */
const fileStep = 'file-made';
/** Long enough to point a camera at it. */
const shownSeconds = 60;

export const wireguardMake: Flow = {
  ...wireguardMakeAbout,
  async run(session, input) {
    const name = nameOf(input);
    const out = await outFile(session, input);
    const wanted = wantedOf(await session.fill(clientForm(name)));
    session.show({ kind: 'text', text: outline(wanted) });
    const way = out === undefined && session.attended && input.options['plain'] !== true ? await askWay(session, wanted) : 'show';
    const file = out ?? (way === 'write' ? await askFile(session, wanted) : undefined);
    if (file !== undefined && !session.rehearsing) await session.note(fileStep, file);
    const made = await session.act({
      id: 'make',
      right: 'reveal',
      request: `make a key pair${wanted.presharedKey ? ' and a preshared key' : ''} here, and ${file === undefined ? 'show the configuration once' : `write ${cleanLine(file)} and ${cleanLine(peerFile(file))}, for their owner alone`}`,
      target: { host: input.place },
      // Both are there as a whole, or it is done again with other keys: nobody has those of before.
      done: async () => file !== undefined && session.noted(fileStep).includes(file) && (await writtenKey(session, file)) !== undefined,
      run: async (grant) => {
        const keys: ClientKeys = { ...makeKeyPair(), presharedKey: wanted.presharedKey ? makePresharedKey() : undefined };
        session.hide(keys.privateKey);
        if (keys.presharedKey !== undefined) session.hide(keys.presharedKey);
        const config = clientConfig(wanted, keys);
        const peer = serverPeer(wanted, keys);
        if (file === undefined) show(session, wanted, { config, peer, hasSecret: wanted.presharedKey }, input.options['plain'] === true);
        else {
          await localFiles.write(grant, file, Buffer.from(config), { mode: 0o600 });
          await localFiles.write(grant, peerFile(file), Buffer.from(peer), { mode: 0o600 });
        }
        return { publicKey: keys.publicKey };
      },
    });
    if (!made && !session.rehearsing && file !== undefined) return outcome(wanted, (await writtenKey(session, file)) ?? '', file);
    if (!made) return { message: 'Rehearsed: no key was made.', data: { ...publicPart(wanted) } };
    return outcome(wanted, made.publicKey, file);
  },
};

function nameOf({ words }: FlowInput): string {
  const [word, more] = words;
  if (more !== undefined)
    throw new Fault({
      code: 'usage.words',
      message: `One device at a time: "${cleanLine(more)}" is one word too many.`,
      remedy: 'Run it once for each device.',
    });
  return word ?? '';
}

/** Said before anything is asked: a file that is there is not written over, it may be the only copy of a key. */
async function outFile(session: Session, { options }: FlowInput): Promise<string | undefined> {
  const written = options['out'];
  if (typeof written !== 'string') return undefined;
  const file = resolve(expandHome(written, homedir()));
  await throwIfThere(session, file);
  return file;
}

async function throwIfThere(session: Session, file: string): Promise<void> {
  // What this run wrote before it broke off is its own.
  if (session.noted(fileStep).includes(file)) return;
  for (const path of [file, peerFile(file)]) {
    if (!(await localFiles.facts(path, session.signal))) continue;
    throw new Fault({
      code: 'refused.fileThere',
      message: `${cleanLine(path)} is there already, and may hold the only copy of a key.`,
      remedy: 'Name another file, or move that one away.',
    });
  }
}

/** The public key of a configuration that was written with what the server gets; undefined where one of the two is missing or cut. */
async function writtenKey(session: Session, file: string): Promise<string | undefined> {
  const { signal } = session;
  const [config, peer] = await Promise.all([localFiles.read(file, { signal }), localFiles.read(peerFile(file), { signal })]);
  const { publicKey } = config ? inspectConfig(new TextDecoder().decode(config)) : {};
  return publicKey !== undefined && peer && new TextDecoder().decode(peer).includes(publicKey) ? publicKey : undefined;
}

function peerFile(file: string): string {
  return `${file.replace(/\.conf$/, '')}.server.conf`;
}

async function askWay(session: Session, { device }: ClientWanted): Promise<string> {
  return session.ask.choice({
    id: 'way',
    label: 'What is to become of it?',
    help: 'It holds the private key, which is kept nowhere here. Whoever leaves before this makes nothing.',
    choices: [
      { value: 'show', label: device === 'phone' ? 'Show its QR code once' : 'Show it once', detail: `for ${shownSeconds} seconds` },
      { value: 'write', label: 'Write it to a file', detail: 'that only its owner may read' },
    ],
    initial: device === 'phone' ? 'show' : 'write',
  });
}

async function askFile(session: Session, { name }: ClientWanted): Promise<string> {
  const written = await session.ask.text({
    id: 'file',
    label: 'To which file?',
    help: 'wg-quick takes the name of the interface from it: at most 15 letters before .conf.',
    initial: `./${name.replace(/[^\w.-]+/g, '-').slice(0, 15) || 'tunnel'}.conf`,
    check: (text) =>
      /(?:^|\/)[a-zA-Z0-9_=+.-]{1,15}\.conf$/.test(text.trim()) ? undefined : 'Name a file with at most 15 letters before .conf.',
  });
  const file = resolve(expandHome(written.trim(), homedir()));
  await throwIfThere(session, file);
  return file;
}

function show(
  session: Session,
  { name, device }: ClientWanted,
  { config, peer, hasSecret }: { config: string; peer: string; hasSecret: boolean },
  plain: boolean,
): void {
  session.show({
    kind: 'secret',
    label: `Configuration of ${cleanLine(name)}`,
    value: config.trimEnd(),
    secondsLeft: shownSeconds,
    ...(plain && { plain }),
    ...(device === 'phone' && { code: qrCode(config) }),
  });
  if (plain) return;
  if (hasSecret) session.show({ kind: 'secret', label: 'What the server gets', value: peer.trimEnd(), secondsLeft: shownSeconds });
  else session.show({ kind: 'text', text: `What the server gets:\n${peer}` });
}

function outline({ device, networks, dns, domains, killSwitch, mtu }: ClientWanted): string {
  return [
    isFullTunnel(networks) ? 'Everything goes through the tunnel.' : `Through the tunnel goes ${networks.join(', ')}.`,
    dns.length === 0
      ? 'Names are asked outside of it.'
      : `Names${domains.length > 0 && device === 'linux' && !isFullTunnel(networks) ? ` below ${domains.join(', ')}` : ''} are asked of ${dns.join(', ')}.`,
    killSwitch ? 'While it is up, nothing goes past it.' : '',
    `MTU ${mtu}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function publicPart({ name, device, addresses, endpoint, networks, dns, domains, killSwitch, mtu }: ClientWanted): object {
  return { name, device, addresses, endpoint, networks, dns, domains, killSwitch, mtu };
}

function outcome(wanted: ClientWanted & { presharedKey: boolean }, publicKey: string, file: string | undefined): FlowOutcome {
  const single = wanted.addresses.map((address) => address.split('/')[0]).join(', ');
  const server = wanted.presharedKey ? 'with its preshared key' : 'with its public key';
  return {
    message:
      file === undefined
        ? `Made for ${cleanLine(wanted.name)}. It works once the server knows ${publicKey} (${single}), ${server}.`
        : `Written: ${cleanLine(file)}. ${cleanLine(peerFile(file))} is for the server: add it there, then remove it here.`,
    data: { ...publicPart(wanted), publicKey, ...(file !== undefined && { file, server: peerFile(file) }) },
  };
}
