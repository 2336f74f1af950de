/** Tag of an OpenPGP packet (RFC 9580, 5). */
const publicTag = 6;
const secretTag = 5;

/** Reads the output of `gpg --export`. Returns the key as the server accepts it, base64 of its bytes without armour, or the problem. */
export function pgpPublicKey(content: Uint8Array): { base64?: string; problem?: string } {
  const bytes = Buffer.from(content);
  const text = bytes.subarray(0, 64 * 1024).toString('latin1');
  if (/-----BEGIN PGP (?:PRIVATE|SECRET) KEY/.test(text)) return { problem: secretProblem };
  const binary = text.includes('-----BEGIN PGP') ? unarmoured(bytes.toString('latin1')) : bytes;
  if (!binary) return { problem: 'The ASCII armour is broken. Export the key again.' };
  const tag = tagOf(binary[0]);
  if (tag === secretTag) return { problem: secretProblem };
  if (tag !== publicTag) return { problem: 'Not a PGP public key. Export one with gpg --export KEY.' };
  return { base64: binary.toString('base64') };
}

const secretProblem = 'The file contains a secret key, which must not be shared. Use the public key from gpg --export.';

function unarmoured(text: string): Buffer | undefined {
  const body = /-----BEGIN PGP PUBLIC KEY BLOCK-----[^\n]*\n(?:[^\n:]+:[^\n]*\n)*\s*([\s\S]*?)-----END PGP PUBLIC KEY BLOCK-----/.exec(
    text,
  )?.[1];
  if (body === undefined) return undefined;
  const lines = body.split('\n').map((line) => line.trim());
  // The last line is a checksum.
  const base64 = lines.filter((line) => line !== '' && !line.startsWith('=')).join('');
  return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : undefined;
}

function tagOf(first: number | undefined): number | undefined {
  if (first === undefined || (first & 0x80) === 0) return undefined;
  return (first & 0x40) === 0 ? (first >> 2) & 0x0f : first & 0x3f;
}
