import { rm } from 'node:fs/promises';
import { enginesScript, imagesScript, makeEnginesFolder, runOrThrow, variablesOf } from '../real/scripts.ts';
import { sourceProgram } from './log-screen.ts';

const label = 'dev.quarterdeck.bench=1';
const image = 'busybox';
/** Docker makes them one after the other for the most part; more at once only wait. */
const atOnce = 4;

/** A Docker that is there for the benchmark alone, with what it runs. */
export class BenchEngine {
  readonly url: string;
  readonly version: string;
  readonly #folder: string | undefined;

  private constructor(url: string, version: string, folder: string | undefined) {
    this.url = url;
    this.version = version;
    this.#folder = folder;
  }

  /** Starts a private one, which ends with this process at the latest; or takes the one at this address and leaves only ours behind. */
  static async start(given: string | undefined): Promise<BenchEngine> {
    const folder = given === undefined ? await makeEnginesFolder() : undefined;
    let url = given;
    if (folder !== undefined) {
      const env = { QUARTERDECK_ENGINES_OWNER: String(process.pid), QUARTERDECK_REQUIRE_REAL: '1' };
      url = variablesOf(await runOrThrow([enginesScript, 'up', folder, 'docker'], { env })).QUARTERDECK_TEST_DOCKER;
    }
    if (!url) throw new Error('the engine has not said where it is');
    const docker = (args: readonly string[], limitMs = 60_000) => runOrThrow(['docker', '--host', url, ...args], { limitMs });
    const version = (await docker(['version', '--format', '{{.Server.Version}}'])).trim();
    const engine = new BenchEngine(url, version, folder);
    if (folder !== undefined) await runOrThrow([imagesScript], { env: { QUARTERDECK_TEST_DOCKER: url }, limitMs: 600_000 });
    await engine.remove();
    return engine;
  }

  async docker(args: readonly string[], limitMs = 60_000): Promise<string> {
    return await runOrThrow(['docker', '--host', this.url, ...args], { limitMs });
  }

  async #run(name: string, options: readonly string[], command: readonly string[]): Promise<void> {
    await this.docker(['run', '--detach', '--network', 'none', '--label', label, '--name', name, ...options, image, ...command], 120_000);
  }

  /** Brings the number of containers that only sleep to this, named `bench-01` and on. */
  async sleepers(count: number): Promise<void> {
    const names = (await this.#names()).filter((name) => /^bench-\d+$/.test(name));
    const missing = Array.from({ length: count }, (_, index) => `bench-${String(index + 1).padStart(2, '0')}`).filter(
      (name) => !names.includes(name),
    );
    const start = async (): Promise<void> => {
      for (let name = missing.shift(); name !== undefined; name = missing.shift()) await this.#run(name, [], ['sleep', '1000000']);
    };
    await Promise.all(Array.from({ length: atOnce }, start));
  }

  /** Starts the container that writes, the first by name. `limit` 0 goes on for ever. Answers its name. */
  async source({ rate, limit = 0, delayS = 0 }: { rate: number; limit?: number; delayS?: number }): Promise<string> {
    await this.removeSource();
    const settings = { rate, limit, delay: delayS };
    const assignments = Object.entries(settings).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
    await this.#run('bench-00-source', ['--stop-timeout', '0'], ['awk', ...assignments, sourceProgram]);
    return 'bench-00-source';
  }

  async removeSource(): Promise<void> {
    if ((await this.#names()).includes('bench-00-source')) await this.docker(['rm', '--force', '--volumes', 'bench-00-source']);
  }

  /** The number of the last line that the source wrote and the engine has. */
  async newestLine(): Promise<number> {
    return Number.parseInt(await this.docker(['logs', '--tail', '1', 'bench-00-source']), 10);
  }

  async #names(): Promise<string[]> {
    return (await this.docker(['ps', '--all', '--filter', `label=${label}`, '--format', '{{.Names}}'])).split('\n').filter(Boolean);
  }

  /** Removes the containers of the benchmark, all of them. */
  async remove(): Promise<void> {
    const names = await this.#names();
    if (names.length > 0) await this.docker(['rm', '--force', ...names], 300_000);
  }

  async end(): Promise<void> {
    if (this.#folder === undefined) await this.remove();
    else {
      await runOrThrow([enginesScript, 'down', this.#folder]);
      await rm(this.#folder, { recursive: true, force: true });
    }
  }
}
