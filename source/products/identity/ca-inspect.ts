import type { X509Certificate } from 'node:crypto';
import { Fault, messageOf } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { givenOrAsked } from '../../flows/given-or-asked.ts';
import { refuseTypedPath } from '../../flows/named-file.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Host } from '../../hosts/host.ts';
import { shownCertificates } from '../../hosts/presented-certificates.ts';
import type { Session } from '../../session/session.ts';
import { isAddress } from '../../text/address-span.ts';
import { cleanLine } from '../../text/clean.ts';
import { authorityOf } from './ca-issue.ts';
import { certificatesIn, checkCertificate, commonName } from './client/certificate.ts';
import { wrongText } from './client/checked-item.ts';

const limitMs = 10_000;

export const caInspect: Procedure = async (session, input, context) => {
  const { id, authority } = await authorityOf(session, input, context);
  const { roots, chain: intermediate } = await authority.certificates(session.signal);
  const what = await askWhat(session, input);
  const host = context.hostOf(input.engineName);
  const [certificate, ...above] =
    what.file !== undefined ? await inFile(host, what.file, session.signal) : await behind(host, what, session.signal);
  if (!certificate) throw new Fault('usage.certificate', 'There is no certificate in it.', 'Name a file in PEM.');
  const items = checkCertificate(certificate, { authorities: roots, chain: [...above, ...intermediate], name: what.name });
  for (const item of items) session.show({ kind: 'item', ...item });
  const wrong = wrongText(items);
  const data = {
    subject: cleanLine(certificate.subject),
    serial: certificate.serialNumber,
    fingerprint: certificate.fingerprint256,
    items,
  };
  const shown = commonName(certificate.subject) || what.shown;
  if (wrong === '') return { message: `The certificate of ${shown} is right, and ${id} stands behind it.`, data };
  throw new Fault(
    'failed.certificate',
    `Who trusts ${id} refuses the certificate of ${shown}: ${wrong}.`,
    `Have one made: quarterdeck ca issue ${id}`,
  );
};

type Asked = { shown: string; file?: string; name?: string; port?: number };

async function askWhat(session: Session, input: FlowInput): Promise<Asked> {
  const [given] = wordsUpTo(1, input, { takes: 'One certificate at a time', remedy: 'Run it once for each.' });
  const written = await unlessCancelled(session, 'No certificate was looked at.', () =>
    givenOrAsked(session, {
      id: 'what',
      given,
      code: 'usage.certificate',
      remedy: 'For example nas.lan:443 or /etc/ssl/nas.lan.crt',
      label: 'Which certificate?',
      help: 'A file on the host, or name:port of something that speaks TLS.',
      check: problem,
    }),
  );
  if (written.startsWith('/')) {
    refuseTypedPath(session, written);
    return { shown: written, file: written };
  }
  const [, name = '', port = '443'] = addressed.exec(written) ?? [];
  return { shown: written, name: name.replace(/^\[|\]$/g, ''), port: Number(port) };
}

const addressed = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?$/i;

function problem(text: string): string | undefined {
  return text.startsWith('/') || addressed.test(text) ? undefined : 'An absolute path, or name:port.';
}

async function inFile(host: Host, path: string, signal: AbortSignal): Promise<X509Certificate[]> {
  const bytes = await host.files.read(path, { signal, limitBytes: 1024 * 1024 });
  if (!bytes) throw new Fault('usage.certificate', `There is no file ${cleanLine(path)} on that host.`, 'Name another one.');
  return certificatesIn(new TextDecoder().decode(bytes));
}

/** Returns the certificate that a server presents. No data is sent to it, so its identity does not matter yet. */
async function behind(host: Host, { name = '', port = 443, shown }: Asked, signal: AbortSignal): Promise<X509Certificate[]> {
  try {
    return await limited(signal, limitMs, async (both) => {
      const stream = await host.dial({ host: name, port }, both);
      return shownCertificates(stream, isAddress(name) ? undefined : name, both);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw new Fault(
      'unreachable.page',
      `${cleanLine(shown)} shows no certificate: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
      'Check name and port, and whether TLS is spoken there.',
      { cause: thrown },
    );
  }
}
