const hosts = String.raw`localhost|127(?:\.\d{1,3}){3}|\[?(?:::1|0:0:0:0:0:0:0:1)\]?`;
const whole = new RegExp(`^(?:${hosts})$`, 'i');
const named = new RegExp(String.raw`(?<=^\s*|:\/\/|@)(?:${hosts})(?=\s*$|[:/?,])`, 'i');

/** A host in URL form that is the machine which dials it. `localhost.example.org` is another machine. */
export function isLoopback(host: string): boolean {
  return whole.test(host);
}

/** `http://localhost:1`, `127.0.0.1:80`, `jdbc:postgresql://[::1]/x`, `user:pass@localhost`. */
export function namesLoopback(address: string): boolean {
  return named.test(address);
}

export function replaceLoopback(address: string, host: string): string {
  return address.replace(named, () => host);
}

/** An address to listen on, or to dial: loopback, or a wildcard. */
export function isOwnAddress(address: string): boolean {
  return isLoopback(address) || /^(?:|\*|0\.0\.0\.0|\[?::\]?)$/.test(address);
}

export function dialledHost(listening: string): string {
  if (listening === '' || listening === '0.0.0.0') return '127.0.0.1';
  return listening === '::' ? '::1' : listening;
}
