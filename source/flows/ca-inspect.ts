import type { X509Certificate } from 'node:crypto';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { shownCertificates } from '../hosts/shown-certificates.ts';
import { certificatesIn, checkCertificate, commonName } from '../products/certificate.ts';
import type { Session } from '../session/session.ts';
import { isAddress } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';
import { caInspectAbout } from './about-identity.ts';
import { authorityOf } from './ca-target.ts';
import type { Flow, FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { unlessLeft } from './left-early.ts';
import { refuseTypedPath } from './named-file.ts';

const limitMs = 10_000;

export const caInspect: Flow = {
  ...caInspectAbout,
  async run(session, input, world) {
    const { id, authority } = await authorityOf(session, input, world);
    const { roots, chain: intermediate } = await authority.certificates(session.signal);
    const what = await askWhat(session, input);
    const host = world.hostOf(input.place);
    const [certificate, ...above] =
      what.file !== undefined ? await inFile(host, what.file, session.signal) : await behind(host, what, session.signal);
    if (!certificate)
      throw new Fault({ code: 'usage.certificate', message: 'There is no certificate in it.', remedy: 'Name a file in PEM.' });
    const items = checkCertificate(certificate, {
      authorities: roots,
      chain: [...above, ...intermediate],
      name: what.name,
      nowMs: Date.now(),
    });
    for (const { id: item, title, state, evidence } of items) session.show({ kind: 'item', id: item, title, state, evidence });
    const wrong = items.filter(({ state }) => state === 'blocked');
    const data = {
      subject: cleanLine(certificate.subject),
      serial: certificate.serialNumber,
      fingerprint: certificate.fingerprint256,
      items,
    };
    const shown = commonName(certificate.subject) || what.shown;
    if (wrong.length === 0) return { message: `The certificate of ${shown} is right, and ${id} stands behind it.`, data };
    throw new Fault({
      code: 'failed.certificate',
      message: `Who trusts ${id} refuses the certificate of ${shown}: ${wrong.map(({ title, evidence }) => `${title.toLowerCase()}: ${evidence}`).join('; ')}.`,
      remedy: `Have one made: quarterdeck ca issue ${id}`,
    });
  },
};

interface Asked {
  shown: string;
  file?: string;
  name?: string;
  port?: number;
}

async function askWhat(session: Session, input: FlowInput): Promise<Asked> {
  const [word] = wordsUpTo(1, input, { takes: 'One certificate at a time', remedy: 'Run it once for each.' });
  const written =
    word ??
    (await unlessLeft(
      () =>
        session.ask.text({
          id: 'what',
          label: 'Which certificate?',
          help: 'A file on the host, or name:port of something that speaks TLS.',
          check: problem,
        }),
      { message: 'No certificate was looked at.', remedy: 'Start it again whenever you like.' },
    ));
  const wrong = problem(written);
  if (wrong !== undefined)
    throw new Fault({ code: 'usage.certificate', message: wrong, remedy: 'For example nas.lan:443 or /etc/ssl/nas.lan.crt' });
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
  if (!bytes)
    throw new Fault({
      code: 'usage.certificate',
      message: `There is no file ${cleanLine(path)} on that host.`,
      remedy: 'Name another one.',
    });
  return certificatesIn(new TextDecoder().decode(bytes));
}

/** What a server shows to whoever greets it. Nothing is sent to it, so that whom it belongs to does not matter yet. */
async function behind(host: Host, { name = '', port = 443, shown }: Asked, signal: AbortSignal): Promise<X509Certificate[]> {
  try {
    return await limited(signal, limitMs, async (both) => {
      const stream = await host.dial({ host: name, port }, both);
      return shownCertificates(stream, isAddress(name) ? undefined : name, both);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw new Fault({
      code: 'unreachable.page',
      message: `${cleanLine(shown)} shows no certificate: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
      remedy: 'Check name and port, and whether TLS is spoken there.',
      cause: thrown,
    });
  }
}
