import { join } from 'node:path';
import { z } from 'zod';
import { readCheckedJson } from '../../../config/checked-json.ts';
import { withFileLock } from '../../../config/file-lock.ts';
import { writeOwnFile } from '../../../config/own-files.ts';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';

const authority = z.looseObject({ name: z.string(), /** PEM. */ certificate: z.string(), untilMs: z.number() });
const signedNode = z.looseObject({
  ...authority.shape,
  signedAt: z.string(),
  network: z.string(),
  groups: z.array(z.string()).readonly(),
  subnets: z.array(z.string()).readonly(),
});
const overlayMesh = z.looseObject({ schema: z.literal(1), authority, nodes: z.array(signedNode).readonly() });

export type OverlayMesh = z.infer<typeof overlayMesh>;

/** The certificates of a host's overlay mesh. Private keys are in the keychain. */
export class OverlayBook {
  readonly #file: string;

  constructor(dataFolder: string, engineName: string) {
    this.#file = join(dataFolder, 'overlay-mesh', `${encodeURIComponent(engineName)}.json`);
  }

  read(): Promise<OverlayMesh | undefined> {
    return readCheckedJson(this.#file, overlayMesh, {
      remedy: 'Fix or restore the file: it contains the CA certificate that signing requires.',
    });
  }

  async start(grant: Grant, authority: OverlayMesh['authority']): Promise<void> {
    grant.signal.throwIfAborted();
    await withFileLock(this.#file, () => this.#write({ schema: 1, authority, nodes: [] }));
  }

  /** Replaces an earlier node of the same name. */
  async add(grant: Grant, node: OverlayMesh['nodes'][number]): Promise<void> {
    grant.signal.throwIfAborted();
    await withFileLock(this.#file, async () => {
      const mesh = await this.read();
      if (!mesh) throw new Fault('failed.overlay', 'The mesh no longer has a CA.', 'Create a CA: quarterdeck overlay ca');
      await this.#write({ ...mesh, nodes: [...mesh.nodes.filter(({ name }) => name !== node.name), node] });
    });
  }

  #write(mesh: OverlayMesh): Promise<void> {
    return writeOwnFile(this.#file, `${JSON.stringify(mesh, undefined, 2)}\n`);
  }
}
