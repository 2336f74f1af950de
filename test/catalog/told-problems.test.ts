import { beforeAll, expect, test } from 'vitest';
import { reportedProblems } from '../../source/config-files/reported-problems.ts';
import { type CatalogFiles, catalogFiles } from '../doubles/rendered-files.ts';

// What programs that the tests may not have say of a broken configuration file, as their source makes it.

let catalog: CatalogFiles;
beforeAll(async () => {
  catalog = await catalogFiles();
}, 60_000);

test.each([
  [
    'dns-blocker',
    "Error: unable to load configuration file '/app/config.yml': wrong file structure: yaml: line 12: mapping values are not allowed in this context",
    { line: 12, message: 'mapping values are not allowed in this context' },
  ],
  [
    'dns-blocker',
    "Error: unable to load configuration file '/app/config.yml': wrong file structure: yaml: unmarshal errors:\n  line 5: field upsteams not found in type config.Config",
    { line: 5, message: 'field upsteams not found in type config.Config' },
  ],
  [
    'outbound-tunnel',
    'error parsing YAML in config file at /etc/cloudflared/config.yml: yaml: line 2: mapping values are not allowed in this context',
    { line: 2, message: 'mapping values are not allowed in this context' },
  ],
  [
    'outbound-tunnel',
    'error parsing YAML in config file at /etc/cloudflared/config.yml: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string',
    { line: 1, message: 'cannot unmarshal !!seq into string' },
  ],
  // Nebula before 1.11, and from there on.
  ...['level=error', 'level=ERROR'].map((level): [string, string, object] => [
    'overlay-mesh',
    `time="2026-11-22T20:00:00Z" ${level} msg="Failed to load PKI from config" error="open /etc/nebula/host.key: no such file or directory"`,
    { message: '"Failed to load PKI from config" error="open /etc/nebula/host.key: no such file or directory"' },
  ]),
  [
    'secrets-manager-path',
    '  [ failure ] Parse Configuration: Could not parse configuration: error loading configuration from server.hcl: At 4:1: Unknown token: 4:1 RBRACE }.',
    { line: 4, column: 1, message: 'Unknown token: 4:1 RBRACE }.' },
  ],
])('%s: of %s line and message are understood, and nothing else is told', (id, said, problem) => {
  expect(reportedProblems(said, catalog.entries.get(id)?.configFile?.verify?.problem)).toEqual([expect.objectContaining(problem)]);
});
