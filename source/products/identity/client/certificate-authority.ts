import type { X509Certificate } from 'node:crypto';
import type { ContainerDetail, Engine } from '../../../engine/engine.ts';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { isAddress } from '../../../text/address-span.ts';
import { cleanLine } from '../../../text/clean.ts';
import { durationText } from '../../../text/quantities.ts';
import { unlessThrown } from '../../../text/unless-thrown.ts';
import { type CheckedItem, itemOf } from './checked-item.ts';

const leastRsaBits = 2048;
const longLifeMs = 398 * 86_400_000;

export function checkCertificate(
  certificate: X509Certificate,
  { authorities, chain, name }: Record<'authorities' | 'chain', readonly X509Certificate[]> & { name?: string | undefined },
): CheckedItem[] {
  return [
    namesItem(certificate, name),
    timeItem(certificate, Date.now()),
    signerItem(certificate, [...chain, ...authorities], authorities),
    keyItem(certificate),
  ].filter((item) => item !== undefined);
}

/** Returns the names in `DNS:a.lan, IP Address:10.0.0.1` without their types. */
export function namesOf({ subjectAltName }: X509Certificate): string[] {
  return (subjectAltName ?? '')
    .split(', ')
    .filter(Boolean)
    .map((one) => cleanLine(one.replace(/^(?:DNS|IP Address|email|URI):/, '')));
}

function namesItem(certificate: X509Certificate, name: string | undefined): CheckedItem {
  const item = itemOf('names', 'Names');
  const names = namesOf(certificate);
  const shown = names.join(', ');
  if (names.length === 0 && certificate.ca && name === undefined) return item.ok('none (a CA certificate)');
  if (names.length === 0) return item.blocked('none (no subjectAltName), so browsers reject the certificate regardless of its subject');
  if (name === undefined) return item.ok(shown);
  const fits = !isAddress(name) ? certificate.checkHost(name) : certificate.checkIP(name);
  return fits === undefined ? item.blocked(`${shown}, but not ${cleanLine(name)}`) : item.ok(shown);
}

function timeItem({ validFrom, validTo }: X509Certificate, nowMs: number): CheckedItem {
  const item = itemOf('time', 'Validity');
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
  const until = new Date(toMs).toISOString().slice(0, 16).replace('T', ' ');
  if (fromMs > nowMs) return item.blocked(`not valid yet (valid in ${durationText(fromMs - nowMs)}): check the clocks`);
  if (toMs <= nowMs) return item.blocked(`expired ${durationText(nowMs - toMs)} ago, ${until} UTC`);
  const left = `${durationText(toMs - nowMs)} left, until ${until} UTC`;
  // Clients renew when a third of the lifetime is left; at a tenth, renewal does not work.
  if (toMs - nowMs < (toMs - fromMs) / 10) return item.warning(`${left}; renewal is overdue`);
  if (toMs - fromMs > longLifeMs) return item.warning(`${left}; valid for more than 398 days: prefer a shorter lifetime`);
  return item.ok(left);
}

function signerItem(certificate: X509Certificate, all: readonly X509Certificate[], roots: readonly X509Certificate[]): CheckedItem {
  const item = itemOf('signer', 'Signed by');
  const names: string[] = [];
  let at = certificate;
  for (let depth = 0; depth < 6; depth++) {
    if (roots.some((root) => root.fingerprint256 === at.fingerprint256))
      return item.ok(names.length > 0 ? names.join(', ') : 'itself (a root of this CA)');
    const signer = all.find((one) => one.fingerprint256 !== at.fingerprint256 && at.checkIssued(one) && at.verify(one.publicKey));
    if (!signer) break;
    names.push(commonName(signer.subject));
    at = signer;
  }
  const by = commonName(at.issuer);
  if (at.subject === at.issuer) return item.blocked(`${by}, self-signed and not a root of this CA`);
  return item.blocked(`${by || 'an unnamed issuer'}, not issued by this CA`);
}

function keyItem({ publicKey }: X509Certificate): CheckedItem {
  const item = itemOf('key', 'Key');
  const { modulusLength, namedCurve } = publicKey.asymmetricKeyDetails ?? {};
  const size = modulusLength === undefined ? '' : ` ${modulusLength} bits`;
  const shown = `${publicKey.asymmetricKeyType ?? 'unknown'}${size}${namedCurve === undefined ? '' : ` ${namedCurve}`}`;
  if (modulusLength !== undefined && modulusLength < leastRsaBits) return item.blocked(`${shown}: too short`);
  return item.ok(shown);
}

export const commonName = (subject: string) => cleanLine(/^CN=(.*)$/m.exec(subject)?.[1] ?? subject.split('\n').at(-1) ?? '');

/** Returns every certificate of a PEM text, in its order. Never throws: invalid ones are skipped. */
export async function certificatesIn(pem: string): Promise<X509Certificate[]> {
  const { X509Certificate: Certificate } = await import('node:crypto');
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => unlessThrown(() => new Certificate(block), []));
}

const home = '/home/step';
const provisioner = 'admin';

/** Prints the certificate with its chain. The provisioner's password stays in the container. */
const signScript = `set -e
umask 077
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/request.pem"
STEPPATH=${home} step ca sign "$work/request.pem" "$work/certificate.pem" --provisioner "$1" --provisioner-password-file ${home}/secrets/password --not-after "$2" --force >&2
cat "$work/certificate.pem"`;

type CertificateAuthority = { engine: Engine; container: ContainerDetail };

export async function readCertificates({ engine, container }: CertificateAuthority, signal: AbortSignal) {
  const read = async (name: string) => {
    const bytes = await engine.readFile(container.id, `${home}/certs/${name}`, { signal });
    return bytes ? certificatesIn(new TextDecoder().decode(bytes)) : [];
  };
  const [roots, chain] = await Promise.all([read('root_ca.crt'), read('intermediate_ca.crt')]);
  if (roots.length > 0) return { roots, chain };
  throw failed('The CA has no root certificate yet.', 'The CA creates the certificate when it first starts. Check the log of the CA.');
}

/** Returns the certificate with its chain, in PEM. Throws `failed.authority`. */
export async function signRequest(grant: Grant, { engine, container }: CertificateAuthority, request: string, hours: number) {
  const argv = ['sh', '-c', signScript, 'sign', provisioner, `${hours}h`];
  const { exitCode, stdout, stderr } = await engine.writer(grant).exec(container.id, argv, { stdin: Buffer.from(request) });
  const made = new TextDecoder().decode(stdout);
  if (exitCode === 0 && made.includes('-----BEGIN CERTIFICATE-----')) return made.slice(made.indexOf('-----BEGIN CERTIFICATE-----'));
  const words = reasonIn(new TextDecoder().decode(stderr));
  if (/more than the authorized maximum|requested duration/i.test(words)) {
    const remedy = 'Use fewer days, or increase maxTLSCertDuration in the claims of the provisioner.';
    throw failed(`The CA does not issue certificates for that validity period: ${words}.`, remedy);
  }
  if (/provisioner.*not found|no provisioner/i.test(words)) {
    const remedy = 'To list the provisioners, run "step ca provisioner list" in the container.';
    throw failed(`The CA has no provisioner named "${provisioner}".`, remedy);
  }
  // The image generates a password for each unless one is set, and stores only that of the keys.
  if (/failed to decrypt\b.*invalid password/i.test(words)) {
    const remedy = `Recreate the provisioner in the container: run "step ca provisioner remove ${provisioner}", then "step ca provisioner add ${provisioner} --type JWK --create --password-file ${home}/secrets/password", and restart the container.`;
    throw failed(`The password of the provisioner "${provisioner}" differs from the password of the CA keys.`, remedy);
  }
  throw failed(`The CA did not sign the request: ${words || `exit code ${exitCode}`}.`, 'Check the log of the CA.');
}

function reasonIn(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const reason = lines.findLast((line) => /error|refus|denied|not found|more than|failed/i.test(line)) ?? lines.at(-1) ?? '';
  return cleanLine(reason.trim()).replace(/\.$/, '');
}

const failed = (message: string, remedy: string) => new Fault('failed.authority', message, remedy);
