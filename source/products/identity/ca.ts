import type { X509Certificate } from 'node:crypto';
import { posix } from 'node:path';
import { Fault, messageOf } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { apiComponentOf, runningContainer } from '../../flows/api-component.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { refuseTypedPath } from '../../flows/named-file.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { shownCertificates } from '../../hosts/presented-certificates.ts';
import type { Session } from '../../session/session.ts';
import { isAddress } from '../../text/address-span.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { partsOf } from '../../text/words.ts';
import { certificatesIn, checkCertificate, commonName, namesOf, readCertificates, signRequest } from './client/certificate-authority.ts';
import { wrongText } from './client/checked-item.ts';

/** Default limit of the image's provisioner, unless it was raised. */
const usualDays = 1;
const keyLimitMs = 30_000;

/** Creates the key where it is used, readable only by its owner, unless it exists; prints the request. */
const requestScript = `set -e
umask 077
[ -s "$0" ] || openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$0"
exec openssl req -new -key "$0" -subj "/CN=$1" -addext "subjectAltName=$2"`;

export const caIssue: Procedure = async (session, input, context) => {
  const authority = await authorityOf(session, input, context);
  const { id } = authority;
  const host = context.hostOf(input.engineName);
  const { names, folder, days } = await unlessCancelled(session, 'No certificate was created.', () => askOrder(session, input));
  const [first = ''] = names;
  const base = posix.join(folder, first.replace(/^\*\./, 'any.'));
  const [keyFile, file] = [`${base}.key`, `${base}.crt`];
  const { roots, chain } = await readCertificates(authority, session.signal);
  const made = await session.act({
    id: `issue ${first}`,
    right: 'operate',
    request: `create a key in ${keyFile} on ${input.engineName}, have ${id} sign a certificate for ${names.join(', ')} (${countText(days, 'day')}), and write it to ${file}`,
    done: async () => isThere(host, file, names, session.signal),
    run: async (grant) => {
      await host.files.makeFolder(grant, folder, { mode: 0o755 });
      const pem = await signRequest(grant, authority, await requestFor(grant, host, keyFile, names), days * 24);
      const [certificate] = await certificatesIn(pem);
      if (!certificate) throw new Fault('failed.authority', 'The response is not a certificate.', `Check the log of ${id}.`);
      const wrong = wrongText(checkCertificate(certificate, { authorities: roots, chain: [...chain, ...(await certificatesIn(pem))] }));
      if (wrong !== '') throw new Fault('failed.authority', `Invalid certificate (not written): ${wrong}.`, `Check the log of ${id}.`);
      await host.files.write(grant, file, Buffer.from(pem), { mode: 0o644 });
      return certificate.validTo;
    },
  });
  if (session.dryRun) return { message: 'Dry run: no certificate was created.' };
  const data = { certificate: file, key: keyFile, names };
  if (made === undefined) return { message: `${file} already covers these names, and does not need to be renewed yet.`, data };
  return {
    message: `Issued a certificate for ${first}, valid until ${cleanLine(made)}: ${file}, key ${keyFile}. To renew the certificate, run the same command before that date; in the first third of its validity, that changes nothing.`,
    data: { ...data, until: made },
  };
};

async function authorityOf(session: Session, input: FlowInput, context: FlowContext) {
  const found = await apiComponentOf(session, input, context, { name: 'step-ca', what: 'certificate authority' });
  return { id: found.component.id, engine: context.engineOf(input.engineName), container: runningContainer(found) };
}

async function requestFor(grant: Grant, host: Host, keyFile: string, names: readonly string[]): Promise<string> {
  const alternatives = names.map((name) => (!isAddress(name) ? `DNS:${name}` : `IP:${name}`)).join(',');
  const argv = ['sh', '-c', requestScript, keyFile, names[0] ?? '', alternatives];
  const { exitCode, stdout, stderr } = await host.run(grant, argv, { signal: grant.signal, limitMs: keyLimitMs });
  if (exitCode === 0) return new TextDecoder().decode(stdout);
  if (exitCode === 127)
    throw new Fault('failed.key', 'The host has no openssl, which is required to create the key.', 'Install openssl on the host.');
  const [line = ''] = new TextDecoder().decode(stderr).trim().split('\n');
  const words = cleanLine(line).replace(/\.$/, '') || `openssl exited with code ${exitCode}`;
  throw new Fault('failed.key', `Cannot create a certificate request for ${keyFile}: ${words}.`, 'Check the key and folder permissions.');
}

/** Reports whether a certificate for all these names exists that has most of its lifetime left; it is not created again. */
async function isThere(host: Host, file: string, names: readonly string[], signal: AbortSignal): Promise<boolean> {
  const bytes = await host.files.read(file, { signal });
  const [certificate] = bytes ? await certificatesIn(new TextDecoder().decode(bytes)) : [];
  if (!certificate) return false;
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const there = new Set(namesOf(certificate));
  return names.every((name) => there.has(name)) && Date.now() < fromMs + (toMs - fromMs) / 3;
}

async function askOrder(session: Session, input: FlowInput): Promise<{ names: readonly string[]; folder: string; days: number }> {
  const names = await argumentOrPrompt(session, {
    id: 'names',
    given: input.words.length > 0 ? input.words.join(',') : undefined,
    code: 'usage.name',
    remedy: 'For example: nas.lan',
    label: 'Names (comma-separated)',
    help: 'Host names and IP addresses. The files are named after the first one. *.lan covers nas.lan, but not www.nas.lan.',
    check: (text) => partsOf(text).map(nameProblem).find(Boolean) ?? (partsOf(text).length === 0 ? 'Enter a name.' : undefined),
  });
  const folder = await argumentOrPrompt(session, {
    id: 'folder',
    given: optionOf(input, 'folder'),
    code: 'usage.folder',
    remedy: 'For example: --folder /etc/ssl/quarterdeck',
    label: 'Host folder for the certificate and key',
    initial: '/etc/ssl/quarterdeck',
    check: folderProblem,
  });
  const days = Number(optionOf(input, 'days') ?? usualDays);
  if (!Number.isInteger(days) || days < 1 || days > 3650)
    throw new Fault('usage.days', '--days must be a whole number from 1 to 3650.', 'For example: --days 30');
  return { names: partsOf(names), folder: folder.replace(/\/$/, ''), days };
}

function nameProblem(name: string): string | undefined {
  if (isAddress(name) || /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i.test(name)) return undefined;
  return `${cleanLine(name)} is neither a host name nor an IP address.`;
}

function folderProblem(folder: string): string | undefined {
  const isPlain = folder.startsWith('/') && posix.normalize(folder) === folder.replace(/(.)\/$/, '$1') && cleanLine(folder) === folder;
  return isPlain ? undefined : 'Use an absolute path without "..".';
}

const dialLimitMs = 10_000;

export const caInspect: Procedure = async (session, input, context) => {
  const authority = await authorityOf(session, input, context);
  const { id } = authority;
  const { roots, chain: intermediate } = await readCertificates(authority, session.signal);
  const written = await askWhich(session, input);
  const host = context.hostOf(input.engineName);
  const [, bracketed = '', port = '443'] = addressed.exec(written) ?? [];
  const name = written.startsWith('/') ? undefined : bracketed.replace(/^\[|\]$/g, '');
  if (name === undefined) refuseTypedPath(session, written);
  const target = name === undefined ? undefined : { name, port: Number(port), shown: written };
  const [certificate, ...above] = await (target ? behind(host, target, session.signal) : inFile(host, written, session.signal));
  if (!certificate) throw new Fault('usage.certificate', `${cleanLine(written)} contains no certificate.`, 'Use a PEM file.');
  const items = checkCertificate(certificate, { authorities: roots, chain: [...above, ...intermediate], name });
  for (const item of items) session.show({ kind: 'item', ...item });
  const wrong = wrongText(items);
  const { subject, serialNumber: serial, fingerprint256: fingerprint } = certificate;
  const data = { subject: cleanLine(subject), serial, fingerprint, items };
  const shown = commonName(subject) || written;
  if (wrong === '') return { message: `The certificate for ${shown} is valid and was issued by ${id}.`, data };
  const message = `Clients that trust ${id} reject the certificate for ${shown}: ${wrong}.`;
  throw new Fault('failed.certificate', message, `Issue a new certificate: quarterdeck ca issue ${id}`);
};

function askWhich(session: Session, input: FlowInput): Promise<string> {
  const [given] = wordsUpTo(1, input, { takes: 'Inspect one certificate at a time', remedy: 'Run the command once for each.' });
  return unlessCancelled(session, 'No certificate was checked.', () =>
    argumentOrPrompt(session, {
      id: 'what',
      given,
      code: 'usage.certificate',
      remedy: 'For example: nas.lan:443 or /etc/ssl/nas.lan.crt',
      label: 'Certificate',
      help: 'Path of a file on the host, or name:port of a TLS server.',
      check: (text) => (text.startsWith('/') || addressed.test(text) ? undefined : 'Use an absolute path or name:port.'),
    }),
  );
}

const addressed = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?$/i;

async function inFile(host: Host, path: string, signal: AbortSignal): Promise<X509Certificate[]> {
  const bytes = await host.files.read(path, { signal, limitBytes: 1024 * 1024 });
  if (!bytes) throw new Fault('usage.certificate', `${cleanLine(path)} does not exist on the host.`, 'Pass another path.');
  return certificatesIn(new TextDecoder().decode(bytes));
}

/** Returns the certificate that a server presents. No data is sent to it, so its identity does not matter yet. */
async function behind(host: Host, { name, port, shown }: { name: string; port: number; shown: string }, signal: AbortSignal) {
  try {
    return await limited(signal, dialLimitMs, async (both) => {
      const stream = await host.dial({ host: name, port }, both);
      return shownCertificates(stream, isAddress(name) ? undefined : name, both);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    const message = `${cleanLine(shown)} presented no certificate: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`;
    throw new Fault('unreachable.page', message, 'Check the name and the port, and that the server uses TLS.', { cause: thrown });
  }
}
