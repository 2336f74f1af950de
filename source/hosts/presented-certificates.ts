import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions, TLSSocket } from 'node:tls';

/**
 * Returns the certificates that a server presents over TLS, its own first, whether or not they are trusted: nothing is sent over the
 * connection, which is then closed. Rejects with Node's error, and with the signal's reason.
 * @param name undefined for an address: TLS requests a certificate by name only
 */
export async function shownCertificates(stream: Duplex, name: string | undefined, signal: AbortSignal): Promise<X509Certificate[]> {
  const server = await greetOverTls({ socket: stream, rejectUnauthorized: false, ...(name !== undefined && { servername: name }) }, signal);
  const found: X509Certificate[] = [];
  for (let at = server.getPeerX509Certificate(); at && found.length < 6; at = at.issuerCertificate) {
    if (found.some(({ fingerprint256 }) => fingerprint256 === at?.fingerprint256)) break;
    found.push(at);
  }
  server.destroy();
  return found;
}

/** Resolves when the handshake is complete. Rejects with Node's error, and with the signal's reason; the stream is closed then. */
export async function greetOverTls(options: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
  const { connect } = await import('node:tls');
  const secure = connect(options);
  try {
    await once(secure, 'secureConnect', { signal });
    return secure;
  } catch (cause) {
    secure.on('error', () => undefined).destroy();
    signal.throwIfAborted();
    throw cause;
  }
}
