import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkout, copyCheckout, type Ended, makeFolder, runProgram } from './fresh-copy.ts';

let folder: Awaited<ReturnType<typeof makeFolder>>;
let packed: { filename: string; version: string; files: { path: string }[] };
const prefix = (): string => join(folder.path, 'prefix');
const run = async (argv: readonly string[], cwd = folder.path, env: Record<string, string> = {}): Promise<Ended> =>
  await runProgram(argv, { cwd, env: { QUARTERDECK_HOME: join(folder.path, 'home'), ...env } });

const succeed = async (argv: readonly string[], cwd?: string): Promise<Ended> => {
  const ended = await run(argv, cwd);
  if (ended.code !== 0) throw new Error(`${argv.join(' ')} ended with ${ended.code}\n${ended.stdout}${ended.stderr}`);
  return ended;
};

beforeAll(async () => {
  folder = await makeFolder();
  const clone = join(folder.path, 'clone');
  await copyCheckout(clone);
  // fresh-clone.test.ts proves that a clone installs them for itself.
  await symlink(join(checkout, 'node_modules'), join(clone, 'node_modules'));
  const answer = await succeed(['npm', 'pack', '--json', '--pack-destination', folder.path], clone);
  // What the build prints comes before it.
  [packed] = JSON.parse(answer.stdout.slice(answer.stdout.indexOf('[\n')));
  await succeed([
    'npm',
    'install',
    '--global',
    '--prefix',
    prefix(),
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    join(folder.path, packed.filename),
  ]);
  // What is installed must not lean on the checkout.
  await succeed(['mv', clone, `${clone}-away`]);
}, 240_000);
afterAll(async () => await folder.remove());

it('packs what runs, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['bin/quarterdeck', 'dist/main.js', 'dist/catalog.json', 'package.json', 'LICENSE']));
  expect(paths.filter((path) => !/^(bin|dist|catalog)\/|^(package\.json|README\.md|CHANGELOG\.md|LICENSE)$/.test(path))).toEqual([]);
  expect(paths.filter((path) => /\.(ts|tsx|test\.js)$|^bin\/setup$|\/provenance\.yaml$/.test(path))).toEqual([]);
});

it('runs through the links that npm makes', async () => {
  for (const name of ['quarterdeck', 'qd']) {
    expect(await run([join(prefix(), 'bin', name), '--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(packed.version),
      stderr: '',
    });
  }
});

it('runs when the shell finds it in PATH', async () => {
  const PATH = `${join(prefix(), 'bin')}:${process.env.PATH}`;
  const listed = await run(['qd', 'catalog', 'list', '--json'], '/', { PATH });
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  const catalog = JSON.parse(listed.stdout) as { schema: number; components: { id: string }[] };
  expect(catalog.schema).toBe(1);
  expect(catalog.components.map(({ id }) => id)).toEqual(expect.arrayContaining(['password-vault', 'rss-reader', 'reverse-proxy']));
  // A shell that runs a script found in PATH can hand on its bare name.
  expect(await run(['sh', '-c', 'cd / && exec sh "$(command -v qd)" --version'], '/', { PATH })).toMatchObject({ code: 0 });
});

it('has the practice stack with it, whole', async () => {
  const { code, stdout, stderr } = await run([join(prefix(), 'bin', 'quarterdeck'), '--practice', 'status', '--json'], '/');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { hosts } = JSON.parse(stdout) as { hosts: { components: { id: string }[] }[] };
  expect(hosts[0]?.components.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['secrets-manager-path', 'mesh-control-server', 'intrusion-prevention']),
  );
});

it('runs through a chain of links, absolute and relative', async () => {
  const links = join(folder.path, 'links');
  await mkdir(links);
  await symlink(join(prefix(), 'bin', 'qd'), join(links, 'first'));
  await symlink('first', join(links, 'second'));
  expect(await run([join(links, 'second'), '--version'])).toMatchObject({ code: 0, stdout: expect.stringContaining(packed.version) });
});

it('brings its own node, and says so plainly where there is none at all', async () => {
  const empty = join(folder.path, 'no-node');
  await mkdir(empty);
  for (const tool of ['sh', 'readlink']) await symlink(`/bin/${tool}`, join(empty, tool));
  // With the node that came along, none is needed on PATH.
  expect(await run([join(prefix(), 'bin', 'qd'), '--version'], '/', { PATH: empty })).toMatchObject({ code: 0 });

  const bare = join(folder.path, 'bare', 'bin');
  await mkdir(join(bare, '../dist'), { recursive: true });
  await mkdir(bare, { recursive: true });
  await writeFile(join(bare, '../dist/main.js'), '');
  const launcher = join(prefix(), 'lib/node_modules/quarterdeck/bin/quarterdeck');
  await succeed(['cp', launcher, join(bare, 'quarterdeck')]);
  await chmod(join(bare, 'quarterdeck'), 0o755);
  const { code, stderr } = await run([join(bare, 'quarterdeck'), '--version'], '/', { PATH: empty });
  expect(code).toBe(1);
  expect(stderr).toBe('quarterdeck: Node.js 22.14+ or 24+ is required, but PATH has no node.\n');
});

it('installs no source and no build tools', async () => {
  const installed = await readdir(join(prefix(), 'lib/node_modules/quarterdeck'));
  expect(installed).not.toContain('source');
  const modules = await readdir(join(prefix(), 'lib/node_modules/quarterdeck/node_modules')).catch(() => []);
  expect(modules.filter((name) => /^(ink|react|zod|vitest|typescript|esbuild)$/.test(name))).toEqual([]);
});
