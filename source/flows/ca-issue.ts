import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { certificatesIn, checkCertificate, namesOf } from '../products/certificate.ts';
import type { Session } from '../session/session.ts';
import { isAddress } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';
import { partsOf } from '../text/words.ts';
import { caIssueAbout } from './about-identity.ts';
import { authorityOf } from './ca-target.ts';
import type { Flow, FlowInput } from './flow.ts';
import { optionOf } from './flow-options.ts';
import { unlessLeft } from './left-early.ts';

/** What the image's provisioner gives at most, unless somebody has raised it. */
const usualDays = 1;
const limitMs = 30_000;

/**
 * Makes the key where it is used, readable by its owner alone, unless there is one; the request goes to the output. Names come as arguments: they are in every
 * certificate for all to see.
 */
const requestScript = `set -e
umask 077
[ -s "$0" ] || openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$0" 2>/dev/null
exec openssl req -new -key "$0" -subj "/CN=$1" -addext "subjectAltName=$2"`;

export const caIssue: Flow = {
  ...caIssueAbout,
  async run(session, input, world) {
    const { id, authority } = await authorityOf(session, input, world);
    const host = world.hostOf(input.place);
    const left = { message: 'No certificate was made.', remedy: 'Start it again whenever you like.' };
    const { names, folder, days } = await unlessLeft(() => askWhat(session, input), left);
    const [first = ''] = names;
    const base = posix.join(folder, first.replace(/^\*\./, 'any.'));
    const [keyFile, file] = [`${base}.key`, `${base}.crt`];
    const { roots, chain } = await authority.certificates(session.signal);
    const made = await session.act({
      id: `issue ${first}`,
      right: 'operate',
      request: `make a key in ${keyFile} on ${input.place}, have ${id} sign a certificate for ${names.join(', ')} (${days} days), write it to ${file}`,
      target: { host: input.place, component: id },
      done: async () => isThere(host, file, names, session.signal),
      run: async (grant) => {
        await host.files.makeFolder(grant, folder, { mode: 0o755 });
        const pem = await authority.sign(grant, await requestFor(grant, host, keyFile, names), { hours: days * 24 });
        const [certificate] = await certificatesIn(pem);
        if (!certificate)
          throw new Fault({ code: 'failed.authority', message: 'What came back is no certificate.', remedy: `Look at the log of ${id}.` });
        const wrong = checkCertificate(certificate, {
          authorities: roots,
          chain: [...chain, ...(await certificatesIn(pem))],
          name: undefined,
          nowMs: Date.now(),
        });
        const blocked = wrong.filter(({ state }) => state === 'blocked');
        if (blocked.length > 0) {
          throw new Fault({
            code: 'failed.authority',
            message: `What came back is not right: ${blocked.map(({ title, evidence }) => `${title.toLowerCase()}: ${evidence}`).join('; ')}.`,
            remedy: 'Nothing was written but the key.',
          });
        }
        await host.files.write(grant, file, Buffer.from(pem), { mode: 0o644 });
        return certificate.validTo;
      },
    });
    if (session.rehearsing) return { message: 'Rehearsed: no certificate was made.' };
    if (made === undefined)
      return { message: `${file} is there, for these names, and valid.`, data: { certificate: file, key: keyFile, names } };
    return {
      message: `${first} has a certificate until ${cleanLine(made)}: ${file}, its key ${keyFile}. Renew it before: the same command again.`,
      data: { certificate: file, key: keyFile, names, until: made },
    };
  },
};

async function requestFor(grant: Grant, host: Host, keyFile: string, names: readonly string[]): Promise<string> {
  const alternatives = names.map((name) => (!isAddress(name) ? `DNS:${name}` : `IP:${name}`)).join(',');
  const { exitCode, stdout, stderr } = await host.run(grant, ['sh', '-c', requestScript, keyFile, names[0] ?? '', alternatives], {
    signal: grant.signal,
    limitMs,
  });
  if (exitCode === 0) return new TextDecoder().decode(stdout);
  const words = cleanLine(new TextDecoder().decode(stderr).trim().split('\n').at(-1) ?? '');
  throw new Fault({
    code: 'failed.key',
    message: /not found/.test(words)
      ? 'That host has no openssl, which makes the key there.'
      : `No key was made in ${keyFile}: ${words.replace(/\.$/, '')}.`,
    remedy: /not found/.test(words) ? 'Install openssl there.' : 'Look at who may write there.',
  });
}

/** A certificate for all of these names that has most of its life before it is not made again. */
async function isThere(host: Host, file: string, names: readonly string[], signal: AbortSignal): Promise<boolean> {
  const bytes = await host.files.read(file, { signal });
  const [certificate] = bytes ? await certificatesIn(new TextDecoder().decode(bytes)) : [];
  if (!certificate) return false;
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const there = new Set(namesOf(certificate));
  return names.every((name) => there.has(name)) && Date.now() < fromMs + (toMs - fromMs) / 3;
}

async function askWhat(session: Session, input: FlowInput): Promise<{ names: readonly string[]; folder: string; days: number }> {
  const words =
    input.words.length > 0
      ? input.words
      : (
          await session.ask.text({
            id: 'names',
            label: 'For which names? With commas between them',
            help: 'Names of hosts and IP addresses, the first one names the file. *.lan is for all below.',
            check: (text) => partsOf(text).map(nameProblem).find(Boolean) ?? (partsOf(text).length === 0 ? 'Type a name.' : undefined),
          })
        ).split(',');
  const names = words.flatMap(partsOf);
  const problem = names.map(nameProblem).find(Boolean);
  if (problem !== undefined) throw new Fault({ code: 'usage.name', message: problem, remedy: 'For example nas.lan' });
  const folder =
    optionOf(input, 'folder') ??
    (await session.ask.text({
      id: 'folder',
      label: 'Where do certificate and key go, on the host?',
      initial: '/etc/ssl/quarterdeck',
      check: folderProblem,
    }));
  const wrong = folderProblem(folder);
  if (wrong !== undefined) throw new Fault({ code: 'usage.folder', message: wrong, remedy: 'For example --folder /etc/ssl/quarterdeck' });
  const days = Number(optionOf(input, 'days') ?? usualDays);
  if (!Number.isInteger(days) || days < 1 || days > 3650)
    throw new Fault({ code: 'usage.days', message: 'A certificate is valid for a whole number of days.', remedy: 'For example --days 30' });
  return { names, folder: folder.replace(/\/$/, ''), days };
}

function nameProblem(name: string): string | undefined {
  if (isAddress(name) || /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i.test(name)) return undefined;
  return `${cleanLine(name)} is neither a name of a host nor an IP address.`;
}

function folderProblem(folder: string): string | undefined {
  return folder.startsWith('/') && posix.normalize(folder) === folder.replace(/(.)\/$/, '$1') && cleanLine(folder) === folder
    ? undefined
    : 'An absolute path, without .. in it.';
}
