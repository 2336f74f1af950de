import { join } from 'node:path';
import { withFileLock } from '../config/file-lock.ts';
import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { objectOf, parseJson } from '../text/json-value.ts';

/** A certificate that was signed from here, public as all certificates are. */
export interface SignedNode {
  name: string;
  /** PEM. */
  certificate: string;
  /** ISO 8601. */
  signedAt: string;
  untilMs: number;
  network: string;
  groups: readonly string[];
  subnets: readonly string[];
}

export interface OverlayMesh {
  schema: 1;
  authority: { name: string; certificate: string; untilMs: number };
  nodes: readonly SignedNode[];
}

const authorityTypes = { name: 'text', certificate: 'text', untilMs: 'number' } as const;
const nodeTypes = { ...authorityTypes, signedAt: 'text', network: 'text', groups: 'texts', subnets: 'texts' } as const;

function hasTypes(value: unknown, types: Readonly<Record<string, 'text' | 'texts' | 'number'>>): boolean {
  const object = objectOf(value);
  return (
    object !== undefined &&
    Object.entries(types).every(([name, type]) => {
      const member = object[name];
      if (type === 'texts') return Array.isArray(member) && member.every((one) => typeof one === 'string');
      return typeof member === (type === 'text' ? 'string' : 'number');
    })
  );
}

/** The certificates of the mesh of one place. Private keys are in the vault. */
export class OverlayBook {
  readonly #file: string;

  constructor(dataFolder: string, place: string) {
    this.#file = join(dataFolder, 'overlay-mesh', `${encodeURIComponent(place)}.json`);
  }

  async read(): Promise<OverlayMesh | undefined> {
    const text = await readOwnFile(this.#file);
    if (text === undefined) return undefined;
    let json: unknown;
    try {
      json = parseJson(text);
    } catch {
      json = undefined;
    }
    const mesh = objectOf(json);
    const nodes = mesh?.['nodes'];
    if (!hasTypes(mesh?.['authority'], authorityTypes) || !Array.isArray(nodes) || !nodes.every((node) => hasTypes(node, nodeTypes)))
      throw new Fault({
        code: 'config.unreadable',
        message: `${this.#file} is not what Quarterdeck writes there.`,
        remedy: 'Mend it, or move it away: the keys are in the vault.',
        where: { file: this.#file },
      });
    return json as OverlayMesh;
  }

  async start(grant: Grant, authority: OverlayMesh['authority']): Promise<void> {
    grant.signal.throwIfAborted();
    await withFileLock(this.#file, () => this.#write({ schema: 1, authority, nodes: [] }));
  }

  /** In the place of an earlier one of the same name. */
  async add(grant: Grant, node: SignedNode): Promise<void> {
    grant.signal.throwIfAborted();
    await withFileLock(this.#file, async () => {
      const mesh = await this.read();
      if (!mesh) throw new Fault({ code: 'failed.overlay', message: 'The authority is gone.', remedy: 'Make one: quarterdeck overlay ca' });
      await this.#write({ ...mesh, nodes: [...mesh.nodes.filter(({ name }) => name !== node.name), node] });
    });
  }

  #write(mesh: OverlayMesh): Promise<void> {
    return writeOwnFile(this.#file, `${JSON.stringify(mesh, undefined, 2)}\n`);
  }
}
