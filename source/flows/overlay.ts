import { homedir } from 'node:os';
import { join, posix, resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { OverlayMesh } from '../products/overlay-book.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { overlayCaAbout, overlaySignAbout } from './about-overlay.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { bookOf, dayText, endText, jsonOf, meshOf, onThisMachine } from './overlay-mesh.ts';
import { nodeOf, secondsOf, wordOr } from './overlay-questions.ts';
import { secretName } from './stack-facts.ts';

const component = 'overlay-mesh';
const usualAuthority = '1095d';

export const overlayCa: Flow = {
  ...overlayCaAbout,
  async run(session, input, world) {
    const book = bookOf(world, input.place);
    const before = await book.read();
    const isOurs = before !== undefined && session.noted('authority').includes(before.authority.name);
    if (before && !isOurs) {
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
    if (!session.rehearsing && !isOurs) await session.note('authority', name);
    const made = await onThisMachine(async (certificates) => {
      const answer = await session.act({
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
      });
      if (answer || session.rehearsing) return answer;
      // It broke off behind its making.
      return (await certificates.inspect((await meshOf(book)).authority.certificate, session.signal))[0];
    });
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
    await offerAuthority(session, input, world);
    const mesh = await meshOf(book);
    const nowMs = Date.now();
    if (mesh.authority.untilMs < nowMs) throw ended(mesh);
    const wanted = await nodeOf(session, input, mesh);
    const asked = await askWhere(session, input, wanted.name);
    const out = asked.out === undefined ? undefined : resolve(expandHome(asked.out, homedir()));
    const installed = asked.install ? await installFolder(session, input, world) : undefined;
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
    const [begun = new Date(nowMs).toISOString()] = session.noted('begun');
    if (!session.rehearsing && session.noted('begun').length === 0) await session.note('begun', begun);
    const signedNow = async () => (await meshOf(book)).nodes.find(({ name, signedAt }) => name === wanted.name && signedAt >= begun);
    const made = await onThisMachine(async (certificates) => {
      const answer = await session.act({
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
        done: async () => (await signedNow()) !== undefined,
        run: async (grant) => {
          const { certificate, key } = await certificates.sign(
            grant,
            { certificate: mesh.authority.certificate, key: authorityKey },
            wanted,
          );
          session.hide(key);
          const [read] = await certificates.inspect(certificate, grant.signal);
          await vault.write(grant, nodeKeyName, key, 'generated');
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
          if (installed !== undefined) {
            await installed.host.files.makeFolder(grant, installed.own, { mode: 0o700 });
            await installed.host.files.makeFolder(grant, installed.folder, { mode: 0o755 });
            for (const { name, text, mode } of files('host'))
              await installed.host.files.write(grant, posix.join(installed.folder, name), Buffer.from(`${text}\n`), { mode });
          }
          // Last: what stands in the book was brought where it belongs.
          await book.add(grant, {
            name: wanted.name,
            certificate,
            signedAt: new Date().toISOString(),
            untilMs: read?.untilMs ?? 0,
            network: wanted.network,
            groups: wanted.groups,
            subnets: wanted.subnets,
          });
          return read;
        },
      });
      if (answer || session.rehearsing) return answer;
      const [read] = await certificates.inspect((await signedNow())?.certificate ?? '', session.signal);
      return read;
    });
    if (!made) return { message: `Rehearsed: ${wanted.name} was not signed.` };
    const next =
      installed !== undefined
        ? ` It is in ${cleanLine(installed.folder)}: ${installed.deployed ? `restart ${component} to put it in force` : `quarterdeck deploy ${component} finds it there`}.`
        : out !== undefined
          ? ` It is in ${cleanLine(out)}: carry it to the node, then remove it here.`
          : ' Its key is in the vault alone; --out or --install bring it to the node.';
    return {
      message: `${wanted.name} is signed, and ends ${dayText(made.untilMs)}.${next}`,
      data: { certificate: jsonOf(made), ...(out !== undefined && { folder: out }) },
    };
  },
};

/** Nobody signs without an authority: who sits here makes it first. */
async function offerAuthority(session: Session, input: FlowInput, world: FlowWorld): Promise<void> {
  if (!session.attended || session.rehearsing || (await bookOf(world, input.place).read())) return;
  const name = await session.ask.text({
    id: 'mesh',
    label: 'What is the mesh called?',
    help: `It has no authority yet: one is made first, which is good for three years (quarterdeck overlay ca).`,
    initial: 'home mesh',
    check: (text) => (text.trim() === '' ? 'Give it a name.' : undefined),
  });
  const { message } = await overlayCa.run(session, { ...input, words: [name.trim()], options: { for: usualAuthority } }, world);
  session.show({ kind: 'text', text: message });
}

/** What no option says is asked of who sits here: a key in the vault alone is of no use to its node. */
async function askWhere(
  session: Session,
  { options, place }: FlowInput,
  name: string,
): Promise<{ out: string | undefined; install: boolean }> {
  const given = typeof options['out'] === 'string' ? options['out'] : undefined;
  const install = options['install'] === true;
  if (given !== undefined || install || !session.attended) return { out: given, install };
  const where = await session.ask.choice({
    id: 'where',
    label: `Where do certificate and key of ${name} go?`,
    help: 'The key rests in the vault besides. Nothing is signed before this is answered.',
    choices: [
      { value: 'folder', label: 'Into a folder of this machine', detail: 'to be carried to the node' },
      { value: 'install', label: `Into ${component} of ${place}`, detail: 'deployed there already, or next' },
      { value: 'vault', label: 'Into the vault alone' },
    ],
  });
  if (where !== 'folder') return { out: undefined, install: where === 'install' };
  const out = await session.ask.text({
    id: 'folder',
    label: 'Into which folder?',
    help: `ca.crt, ${name}.crt and ${name}.key are written there, the key for its owner alone.`,
    initial: `./${name}`,
    check: (text) => (text.trim() === '' ? 'Name a folder.' : undefined),
  });
  return { out: out.trim(), install: false };
}

/** Where the mesh of this host has its files, or will have them. */
async function installFolder(
  session: Session,
  { place }: FlowInput,
  world: FlowWorld,
): Promise<{ host: Host; own: string; folder: string; deployed: boolean }> {
  const host = world.hostOf(place);
  const own = posix.join(await world.stackFolderOf(place, session.signal), component);
  const deployed = (await host.files.facts(posix.join(own, 'compose.yaml'), session.signal)) !== undefined;
  return { host, own, folder: posix.join(own, 'files'), deployed };
}

function ended({ authority }: OverlayMesh): Fault {
  return new Fault({
    code: 'refused.authority',
    message: `The authority ${cleanLine(authority.name)} ended ${dayText(authority.untilMs)}: nobody takes what it signs.`,
    remedy: 'Move its file away, make a new one, and sign every node anew.',
  });
}
