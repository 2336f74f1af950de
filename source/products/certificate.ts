import type { X509Certificate } from 'node:crypto';
import { isAddress } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';
import { durationText } from '../text/quantities.ts';
import type { CheckedItem } from './checked-item.ts';

const leastRsaBits = 2048;
const longLifeMs = 398 * 86_400_000;

export interface CertificateExpectations {
  /** Root and intermediate certificates of the authority. */
  authorities: readonly X509Certificate[];
  /** What else came with it. */
  chain: readonly X509Certificate[];
  /** For which name it is looked at; undefined where it is a file. */
  name: string | undefined;
  nowMs: number;
}

/** What a client looks at before it believes a certificate, item by item. */
export function checkCertificate(
  certificate: X509Certificate,
  { authorities, chain, name, nowMs }: CertificateExpectations,
): CheckedItem[] {
  return [
    namesItem(certificate, name),
    timeItem(certificate, nowMs),
    signerItem(certificate, [...chain, ...authorities], authorities),
    keyItem(certificate),
  ].filter((item) => item !== undefined);
}

/** `DNS:a.lan, IP Address:10.0.0.1` without the kinds. */
export function namesOf({ subjectAltName }: X509Certificate): string[] {
  return (subjectAltName ?? '')
    .split(', ')
    .filter(Boolean)
    .map((one) => cleanLine(one.replace(/^(?:DNS|IP Address|email|URI):/, '')));
}

function namesItem(certificate: X509Certificate, name: string | undefined): CheckedItem {
  const item = { id: 'names', title: 'Names' };
  const names = namesOf(certificate);
  const shown = names.join(', ');
  if (names.length === 0)
    return { ...item, state: 'blocked', evidence: 'none (no subjectAltName): browsers refuse it, whatever its subject says' };
  if (name === undefined) return { ...item, state: 'ok', evidence: shown };
  const fits = !isAddress(name) ? certificate.checkHost(name) : certificate.checkIP(name);
  return fits === undefined
    ? { ...item, state: 'blocked', evidence: `${shown}, and not ${cleanLine(name)}` }
    : { ...item, state: 'ok', evidence: shown };
}

function timeItem({ validFrom, validTo }: X509Certificate, nowMs: number): CheckedItem {
  const item = { id: 'time', title: 'Validity' };
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
  const until = new Date(toMs).toISOString().slice(0, 16).replace('T', ' ');
  if (fromMs > nowMs)
    return { ...item, state: 'blocked', evidence: `not valid for another ${durationText(fromMs - nowMs)}: is a clock wrong?` };
  if (toMs <= nowMs) return { ...item, state: 'blocked', evidence: `ended ${durationText(nowMs - toMs)} ago, ${until} UTC` };
  const left = `${durationText(toMs - nowMs)} left, until ${until} UTC`;
  // Clients renew when a third is left; who has not by a tenth has forgotten.
  if (toMs - nowMs < (toMs - fromMs) / 10) return { ...item, state: 'warning', evidence: `${left}: nobody has renewed it` };
  if (toMs - fromMs > longLifeMs)
    return { ...item, state: 'warning', evidence: `${left}; made for longer than browsers accept (398 days)` };
  return { ...item, state: 'ok', evidence: left };
}

function signerItem(certificate: X509Certificate, all: readonly X509Certificate[], roots: readonly X509Certificate[]): CheckedItem {
  const item = { id: 'signer', title: 'Signed by' };
  const names: string[] = [];
  let at = certificate;
  for (let depth = 0; depth < 6; depth++) {
    if (roots.some((root) => root.fingerprint256 === at.fingerprint256))
      return { ...item, state: 'ok', evidence: names.length > 0 ? names.join(', ') : 'itself: it is a root of this authority' };
    const signer = all.find((one) => one.fingerprint256 !== at.fingerprint256 && at.checkIssued(one) && at.verify(one.publicKey));
    if (!signer) break;
    names.push(commonName(signer.subject));
    at = signer;
  }
  const by = commonName(at.issuer);
  if (at.subject === at.issuer)
    return { ...item, state: 'blocked', evidence: `${by}, which signed itself, and is no root of this authority` };
  return { ...item, state: 'blocked', evidence: `${by || 'somebody without a name'}, and this authority does not stand behind it` };
}

function keyItem({ publicKey }: X509Certificate): CheckedItem {
  const item = { id: 'key', title: 'Key' };
  const { modulusLength, namedCurve } = publicKey.asymmetricKeyDetails ?? {};
  const shown = `${publicKey.asymmetricKeyType ?? 'unknown'}${modulusLength === undefined ? '' : ` ${modulusLength} bits`}${namedCurve === undefined ? '' : ` ${namedCurve}`}`;
  if (modulusLength !== undefined && modulusLength < leastRsaBits) return { ...item, state: 'blocked', evidence: `${shown}: too short` };
  return { ...item, state: 'ok', evidence: shown };
}

export function commonName(subject: string): string {
  return cleanLine(/^CN=(.*)$/m.exec(subject)?.[1] ?? subject.split('\n').at(-1) ?? '');
}

/** Every certificate of a PEM text, in its order. Throws nothing: what is none is left out. */
export async function certificatesIn(pem: string): Promise<X509Certificate[]> {
  const { X509Certificate: Certificate } = await import('node:crypto');
  return (pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []).flatMap((block) => {
    try {
      return [new Certificate(block)];
    } catch {
      return [];
    }
  });
}
