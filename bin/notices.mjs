// Writes dist/NOTICE, the licenses of everything that is bundled or installed beside the bundle, and dist/sbom.cdx.json, the same as a CycloneDX 1.6 bill of
// materials. Reads what esbuild put into the bundle, so a package that is only installed is not listed. A package without a license stops the build.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** For the packages that name a license and ship no text of it. Copyright lines are from their package.json and file headers. */
const copyrights = { 'split-ca': 'Charles Bushong', 'yoga-layout': 'Meta Platforms, Inc. and affiliates' };
const standardTexts = {
  MIT: (holder) => `${readFileSync('LICENSE', 'utf8').replace(/^Copyright .*$/m, `Copyright (c) ${holder}.`)}`,
  ISC: (holder) => `ISC License

Copyright (c) ${holder}

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that
the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY
DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION,
ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`,
};

/** Returns the folders of the packages that have code in the bundle. */
function bundledFolders({ outputs }) {
  const inputs = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0),
  );
  // The longest match: a package can be inside another one's node_modules.
  const folders = inputs.map(([path]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]);
  return [...new Set(folders.filter(Boolean))].sort();
}

function readPackage(folder) {
  const { name, version, license } = readJson(join(folder, 'package.json'));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8'));
  if (texts.length === 0 && copyrights[name] && standardTexts[license]) texts.push(standardTexts[license](copyrights[name]));
  if (typeof license !== 'string' || texts.length === 0) throw new Error(`${folder} has no license: check it, then bin/notices.mjs.`);
  return { name, version, license, text: texts.map((text) => text.trim().replaceAll('\r\n', '\n')).join('\n\n') };
}

const licensesOf = (license) => [license.includes(' ') ? { expression: license } : { license: { id: license } }];
const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;
const componentOf = ({ name, version, license }, more = {}) => ({
  type: 'library',
  'bom-ref': `${name}@${version}`,
  name,
  version,
  licenses: licensesOf(license),
  purl: purlOf(name, version),
  ...more,
});

/** The Node binaries that `optionalDependencies` name, with the digest of the executable. Only the one of this machine is installed. */
function nodeComponents({ optionalDependencies }) {
  const lines = readFileSync('bin/node.sha256', 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [content, path] = line.split(/\s+/);
    const name = basename(join(path, '../..'));
    const version = optionalDependencies[name];
    return componentOf(
      { name, version, license: 'MIT' },
      {
        type: 'application',
        scope: 'optional',
        cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
        hashes: [{ alg: 'SHA-256', content }],
      },
    );
  });
}

export function writeNotices(metafile, folder) {
  const own = readJson('package.json');
  // One version can be bundled from two folders.
  const bundled = [
    ...new Map(
      bundledFolders(metafile)
        .map(readPackage)
        .map((each) => [`${each.name}@${each.version}`, each]),
    ).values(),
  ];
  const beside = Object.keys(own.dependencies).map((name) => readPackage(`node_modules/${name}`));
  const sections = [...bundled, ...beside].map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`);
  const heading = `Quarterdeck ${own.version} contains the packages below. The bundled Node.js has its licenses in node_modules/node-linux-*/LICENSE.\n`;
  writeFileSync(join(folder, 'NOTICE'), [heading, ...sections].join(`\n${'-'.repeat(100)}\n\n`));
  const root = { ...componentOf(own), type: 'application' };
  const components = [...bundled, ...beside].map((each) => componentOf(each)).concat(nodeComponents(own));
  const sbom = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component: root }, components };
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
}
