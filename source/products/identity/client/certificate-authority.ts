import type { X509Certificate } from 'node:crypto';
import type { ContainerDetail, Engine } from '../../../engine/engine.ts';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { certificatesIn } from './certificate.ts';

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

/** Smallstep's authority, used through the tools of its own image. Throws `failed.authority`. */
export class CertificateAuthority {
  readonly #engine: Engine;
  readonly #container: ContainerDetail;

  constructor(engine: Engine, container: ContainerDetail) {
    this.#engine = engine;
    this.#container = container;
  }

  async certificates(signal: AbortSignal): Promise<{ roots: readonly X509Certificate[]; chain: readonly X509Certificate[] }> {
    const read = async (name: string) => {
      const bytes = await this.#engine.readFile(this.#container.id, `${home}/certs/${name}`, { signal });
      return bytes ? certificatesIn(new TextDecoder().decode(bytes)) : [];
    };
    const [roots, chain] = await Promise.all([read('root_ca.crt'), read('intermediate_ca.crt')]);
    if (roots.length > 0) return { roots, chain };
    throw failed('It has no root certificate yet.', 'Look at its log: the first start makes it.');
  }

  /** Returns the certificate with its chain, in PEM. */
  async sign(grant: Grant, request: string, { hours }: { hours: number }): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#engine
      .writer(grant)
      .exec(this.#container.id, ['sh', '-c', signScript, 'sign', provisioner, `${hours}h`], { stdin: Buffer.from(request) });
    const made = new TextDecoder().decode(stdout);
    if (exitCode === 0 && made.includes('-----BEGIN CERTIFICATE-----')) return made.slice(made.indexOf('-----BEGIN CERTIFICATE-----'));
    const words = reasonIn(new TextDecoder().decode(stderr));
    if (/more than the authorized maximum|requested duration/i.test(words))
      throw failed(
        `It does not make certificates for so long: ${words}.`,
        'Ask for fewer days, or raise maxTLSCertDuration of the provisioner.',
      );
    if (/provisioner.*not found|no provisioner/i.test(words))
      throw failed(
        `It has no provisioner ${provisioner}: it was set up in another way.`,
        'Its provisioners: step ca provisioner list, in its container.',
      );
    // The image generates a password for each unless one is set, and stores only that of the keys.
    if (/failed to decrypt\b.*invalid password/i.test(words))
      throw failed(
        `Its provisioner ${provisioner} has another password than its keys.`,
        `Make it anew: in its container "step ca provisioner remove ${provisioner}", then "step ca provisioner add ${provisioner} --type JWK --create --password-file ${home}/secrets/password"; then restart it.`,
      );
    throw failed(`It did not sign: ${words || `its program ended with ${exitCode}`}.`, 'Look at its log.');
  }
}

function reasonIn(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  return cleanLine(lines.findLast((line) => /error|refus|denied|not found|more than|failed/i.test(line)) ?? lines.at(-1) ?? '').replace(
    /\.$/,
    '',
  );
}

function failed(message: string, remedy: string): Fault {
  return new Fault('failed.authority', message, remedy);
}
