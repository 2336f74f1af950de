/** What the server refuses with: a gRPC code, and text. */
export class MeshFault extends Error {
  readonly code: 2 | 3 | 5 | 12 | 13;

  constructor(code: MeshFault['code'], message: string) {
    super(message);
    this.code = code;
  }

  /** As the gateway maps it up to 0.29: nearly everything is a 500. */
  get status(): number {
    return { 2: 500, 3: 400, 5: 404, 12: 501, 13: 500 }[this.code];
  }

  /** As 0.30 has it, where errors got the status that they mean. */
  get meaning(): number {
    if (this.code !== 2 && this.code !== 13) return this.status;
    if (/not found|no longer exists/.test(this.message)) return 404;
    if (/UNIQUE constraint|already exists/.test(this.message)) return 409;
    return /not unique|not empty|not a valid|must |should |parsing |policy/.test(this.message) ? 400 : 500;
  }

  /** As the command line shows what came over gRPC. */
  get overGrpc(): string {
    const name = { 2: 'Unknown', 3: 'InvalidArgument', 5: 'NotFound', 12: 'Unimplemented', 13: 'Internal' }[this.code];
    return `rpc error: code = ${name} desc = ${this.message}`;
  }
}
