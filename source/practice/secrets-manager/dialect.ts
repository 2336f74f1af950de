/** Which server is played. They are one family, and differ where a console would notice. */
export interface Dialect {
  product: 'openbao' | 'vault';
  /** As the server writes it, without a `v`. */
  version: string;
  /** The ceremonies of old, which need no login: rekey and generate-root. Off by default in newer releases of both. */
  openCeremonies: boolean;
}

export const openbao: Dialect = { product: 'openbao', version: '2.6.2', openCeremonies: false };
export const vault: Dialect = { product: 'vault', version: '1.21.4', openCeremonies: true };

/** Whether this is OpenBao from a release on, `2.6` for instance. */
export function isOpenbaoFrom(dialect: Dialect, minor: number): boolean {
  const [major = 0, of = 0] = dialect.version.split('.').map(Number);
  return dialect.product === 'openbao' && (major > 2 || (major === 2 && of >= minor));
}

/** The words under which it speaks of itself on a command line. */
export function commandOf(dialect: Dialect): string {
  return dialect.product === 'openbao' ? 'bao' : 'vault';
}
