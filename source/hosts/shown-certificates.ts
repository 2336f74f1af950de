import type { X509Certificate } from 'node:crypto';
import type { Duplex } from 'node:stream';

/**
 * What a server shows to whoever greets it over TLS, its own certificate first, whether or not it is to be trusted: nothing is sent over it. The connection is
 * ended. Rejects with node's error, and with the signal's reason.
 * @param name undefined for an address: servers are asked for a certificate by name alone
 */
export async function shownCertificates(stream: Duplex, name: string | undefined, signal: AbortSignal): Promise<X509Certificate[]> {
  const { connect } = await import('node:tls');
  return new Promise((resolve, reject) => {
    const server = connect({ socket: stream, rejectUnauthorized: false, ...(name !== undefined && { servername: name }) });
    const stop = () => {
      server.destroy();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', stop, { once: true });
    server.once('error', (error) => {
      signal.removeEventListener('abort', stop);
      reject(error);
    });
    server.once('secureConnect', () => {
      signal.removeEventListener('abort', stop);
      const found: X509Certificate[] = [];
      for (let at = server.getPeerX509Certificate(); at && found.length < 6; at = at.issuerCertificate) {
        if (found.some(({ fingerprint256 }) => fingerprint256 === at?.fingerprint256)) break;
        found.push(at);
      }
      server.destroy();
      resolve(found);
    });
  });
}
