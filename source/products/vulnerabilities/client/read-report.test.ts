import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../../faults/fault.ts';
import { readReport } from './read-report.ts';

const read = (text: string, file = 'scan.json') => readReport(Buffer.from(text), file);
const json = (value: unknown) => read(JSON.stringify(value));

const trivy = (vulnerabilities: unknown) => ({
  SchemaVersion: 2,
  CreatedAt: '2026-11-20T08:15:30.123456789Z',
  ArtifactName: 'docker.io/library/nginx:1.27@sha256:0123',
  ArtifactType: 'container_image',
  Results: [{ Target: 'nginx:1.27 (debian 12.8)', Class: 'os-pkgs', Type: 'debian', Vulnerabilities: vulnerabilities }],
});
const openssl = {
  VulnerabilityID: 'CVE-2026-1111',
  PkgName: 'libssl3',
  InstalledVersion: '3.0.15-1',
  FixedVersion: '3.0.17-1',
  Severity: 'HIGH',
  SeveritySource: 'debian',
  PrimaryURL: 'https://avd.aquasec.com/nvd/cve-2026-1111',
  Title: 'openssl: a hole',
  CVSS: { nvd: { V3Score: 9.8, V2Score: 5 }, redhat: { V3Score: 7.4 } },
};

describe('Trivy', () => {
  test('what it found, with the score of the national database where the vendor has none (R79)', async () => {
    const report = await json(trivy([openssl, { ...openssl, VulnerabilityID: 'CVE-2026-2', CVSS: undefined, Severity: 'LOW' }]));
    expect(report).toMatchObject({
      format: 'Trivy JSON',
      subjects: ['nginx'],
      scannedMs: Date.parse('2026-11-20T08:15:30.123Z'),
      skipped: 0,
    });
    expect(report.vulnerabilities).toMatchObject([
      {
        id: 'CVE-2026-1111',
        package: 'libssl3',
        subject: 'nginx',
        version: '3.0.15-1',
        fixedIn: '3.0.17-1',
        score: 9.8,
        band: 'critical',
        severity: 'HIGH',
        title: 'openssl: a hole',
      },
      { id: 'CVE-2026-2', score: undefined, band: 'low' },
    ]);
  });

  test('the same one at several paths counts once', async () => {
    const { vulnerabilities } = await json(trivy([openssl, openssl, openssl]));
    expect(vulnerabilities).toHaveLength(1);
    expect(vulnerabilities[0]?.count).toBe(3);
  });

  test('nothing found is a report too: what was there before is gone then', async () => {
    expect(await json({ SchemaVersion: 2, ArtifactName: 'caddy:2', ArtifactType: 'container_image' })).toMatchObject({
      subjects: ['caddy'],
      vulnerabilities: [],
    });
  });

  test('an entry without an id is left out, and its place is told', async () => {
    const text = `{\n  "ArtifactName": "x:1",\n  "Results": [\n    {"Target": "x", "Vulnerabilities": [\n      {"PkgName": "a"}\n    ]}\n  ]\n}`;
    const report = await read(text);
    expect(report).toMatchObject({ skipped: 1, problems: [{ line: 5, column: 7, message: 'An entry has no VulnerabilityID.' }] });
  });

  test('a list of results, as older releases wrote it', async () => {
    const { vulnerabilities } = await json([{ Target: 'app/package-lock.json', Vulnerabilities: [openssl] }]);
    expect(vulnerabilities).toMatchObject([{ subject: 'app/package-lock.json' }]);
  });
});

test('Grype: its own score, or that of the entry it refers to; the newest CVSS', async () => {
  const match = (cvss: unknown, related: unknown[] = []) => ({
    vulnerability: {
      id: 'GHSA-aaaa-bbbb-cccc',
      severity: 'Medium',
      fix: { versions: ['2.0.1', '1.9.9'], state: 'fixed' },
      cvss,
      dataSource: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
      description: 'A hole',
    },
    relatedVulnerabilities: related,
    artifact: { name: 'left-pad', version: '1.0.0', type: 'npm' },
  });
  const report = await json({
    matches: [
      match([
        { version: '2.0', metrics: { baseScore: 10 } },
        { version: '3.1', metrics: { baseScore: 6.9 } },
      ]),
      {
        ...match([], [{ id: 'CVE-2026-7', cvss: [{ version: '3.1', metrics: { baseScore: 7 } }] }]),
        artifact: { name: 'right-pad', version: '2' },
      },
      { vulnerability: { id: 'CVE-1' } },
    ],
    source: { type: 'image', target: { userInput: 'ghcr.io/acme/app:1.2' } },
    descriptor: { name: 'grype', version: '0.90.0', timestamp: '2026-11-21T10:00:00+01:00' },
  });
  expect(report).toMatchObject({ format: 'Grype JSON', subjects: ['ghcr.io/acme/app'], skipped: 1 });
  expect(report.vulnerabilities).toMatchObject([
    { package: 'left-pad', score: 6.9, band: 'medium', fixedIn: '2.0.1, 1.9.9' },
    { package: 'right-pad', score: 7, band: 'high', aliases: ['CVE-2026-7'] },
  ]);
});

describe('SARIF', () => {
  const run = (results: unknown[]) => ({
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Trivy',
            rules: [
              {
                id: 'CVE-2026-3',
                shortDescription: { text: 'zlib: overflow' },
                helpUri: 'https://example.org/3',
                properties: { 'security-severity': '8.1' },
              },
              { id: 'js/xss', defaultConfiguration: { level: 'error' } },
            ],
          },
        },
        properties: { imageName: 'redis:7-alpine' },
        results,
      },
    ],
  });
  const zlib = {
    ruleId: 'CVE-2026-3',
    level: 'error',
    message: { text: 'Package: zlib\nInstalled Version: 1.2\nVulnerability CVE-2026-3\nSeverity: HIGH\nFixed Version: 1.3\nLink: [x](y)' },
  };

  test('package and versions from the message, the score from the rule', async () => {
    const report = await json(run([zlib]));
    expect(report).toMatchObject({ format: 'SARIF 2.1.0 from Trivy', subjects: ['redis'] });
    expect(report.vulnerabilities).toMatchObject([
      {
        id: 'CVE-2026-3',
        package: 'zlib',
        version: '1.2',
        fixedIn: '1.3',
        score: 8.1,
        band: 'high',
        title: 'zlib: overflow',
        url: 'https://example.org/3',
      },
    ]);
  });

  test('a code scanner names a file, and a level where it has no score', async () => {
    const { vulnerabilities } = await json(
      run([
        { ruleId: 'js/xss', message: { text: 'unescaped' }, locations: [{ physicalLocation: { artifactLocation: { uri: 'src/a.js' } } }] },
      ]),
    );
    expect(vulnerabilities).toMatchObject([{ id: 'js/xss', package: 'src/a.js', score: undefined, band: 'high' }]);
  });

  test('what passed, was suppressed or is gone is not found', async () => {
    const report = await json(
      run([
        { ...zlib, kind: 'pass' },
        { ...zlib, suppressions: [{ kind: 'external' }] },
        { ...zlib, baselineState: 'absent' },
      ]),
    );
    expect(report).toMatchObject({ vulnerabilities: [], ignored: 3 });
  });

  test("Grype's own rules are named after vulnerability and package", async () => {
    const { vulnerabilities } = await json(
      run([{ ruleId: 'CVE-2026-9-curl', message: { text: 'A high vulnerability in deb package: curl, version 8.1 was found at: /x' } }]),
    );
    expect(vulnerabilities).toMatchObject([{ id: 'CVE-2026-9', package: 'curl', version: '8.1' }]);
  });
});

describe('CSV', () => {
  const openVas =
    'IP,Hostname,Port,Port Protocol,CVSS,Severity,QoD,Solution Type,NVT Name,Summary,Specific Result,NVT OID,CVEs,Task ID,Task Name,Timestamp';

  test('OpenVAS: logs are none, one CVE names it, several leave the name to the test; summaries over several lines', async () => {
    const report = await read(
      [
        openVas,
        '192.0.2.5,nas.lan,443,tcp,9.8,High,98,VendorFix,"TLS: a hole","Line one,',
        'line ""two""",,1.3.6.1.4.1.25623.1.0.1,CVE-2026-0001,t,task,2026-11-19T22:00:00Z',
        '192.0.2.5,nas.lan,,,0.0,Log,80,,OS Detection,x,,1.3.6.1.4.1.25623.1.0.2,,t,task,2026-11-19T22:01:00Z',
        '192.0.2.5,,22,tcp,4.0,Medium,80,,SSH: several,x,,1.3.6.1.4.1.25623.1.0.3,"CVE-2026-0002,CVE-2026-0003",t,task,2026-11-19T21:00:00Z',
      ].join('\r\n'),
      'report.csv',
    );
    expect(report).toMatchObject({ format: 'CSV from OpenVAS', ignored: 1, scannedMs: Date.parse('2026-11-19T22:00:00Z') });
    expect(report.vulnerabilities).toMatchObject([
      {
        subject: 'nas.lan',
        package: 'port 443/tcp',
        id: 'CVE-2026-0001',
        aliases: ['1.3.6.1.4.1.25623.1.0.1'],
        band: 'critical',
        title: 'TLS: a hole',
      },
      {
        subject: '192.0.2.5',
        package: 'port 22/tcp',
        id: '1.3.6.1.4.1.25623.1.0.3',
        aliases: ['CVE-2026-0002', 'CVE-2026-0003'],
        band: 'medium',
      },
    ]);
  });

  test.each([
    ['commas', 'CVE,Package,Version,CVSS,Image\nCVE-1,zlib,1.2,7.0,nginx:1\n'],
    ['semicolons and a decimal comma', 'CVE;Package;Version;CVSS;Image\nCVE-1;zlib;1.2;7,0;nginx:1\n'],
    ['tabs', 'Vulnerability ID\tPkg_Name\tInstalled-Version\tCVSS Score\tImage\nCVE-1\tzlib\t1.2\t7.0\tnginx:1\n'],
    ['a byte order mark and empty lines', '\ufeffcve,package,version,cvss,image\n\n\nCVE-1,zlib,1.2,7.0,nginx:1\n\n'],
  ])('a table of anybody, with %s', async (_, text) => {
    expect((await read(text, 'x.csv')).vulnerabilities).toMatchObject([
      { id: 'CVE-1', package: 'zlib', version: '1.2', score: 7, band: 'high', subject: 'nginx' },
    ]);
  });

  test('without a column for it the file says what it is about', async () => {
    expect((await read('cve,severity\nCVE-1,Critical\n', '/tmp/nightly nas.csv')).subjects).toEqual(['nightly nas']);
  });

  test('a score that is none: the row is left out, with line and column', async () => {
    const report = await read('cve,package,cvss\nCVE-1,"a\nb",9.9\nCVE-2,c,bad\nCVE-3,d,11\n,e,5\n', 'x.csv');
    expect(report.vulnerabilities).toHaveLength(1);
    expect(report.problems).toEqual([
      { line: 4, column: 9, message: 'CVSS scores must be from 0 to 10, not "bad".' },
      { line: 5, column: 9, message: 'CVSS scores must be from 0 to 10, not "11".' },
      { line: 6, column: 1, message: 'The row has no vulnerability ID.' },
    ]);
  });

  test('a row with too few fields is left out; commas at the end are no fields', async () => {
    const report = await read('cve,package,cvss\r\nCVE-1,a,5,,\r\n\r\nCVE-2,5\r\nCVE-3,b,5\r\n', 'x.csv');
    expect(report.vulnerabilities.map(({ id }) => id)).toEqual(['CVE-1', 'CVE-3']);
    expect(report.problems).toEqual([{ line: 4, column: 1, message: 'The row has 2 fields, but the header row has 3.' }]);
  });

  test.each([
    ['a quote without an end', 'cve,cvss\nCVE-1,5\nCVE-2,"5\nCVE-3,5\n', { line: 3, column: 8 }, /quote .* is never closed/],
    ['a file cut off behind a quote', 'cve,cvss\nCVE-1,5\n"', { line: 3, column: 2 }, /quote .* is never closed/],
    ['text behind a quote', 'cve,cvss\n"CVE-1"x,5\n', { line: 2, column: 2 }, /unexpected quote/],
    ['no column for the vulnerability', 'name,cvss\nx,5\n', { line: 1, column: 1 }, /no vulnerability column.*Columns found: name, cvss/],
    ['no column for how bad it is', 'cve,name\nx,5\n', { line: 1, column: 1 }, /severity/],
  ])('%s: refused with the place', async (_, text, position, why) => {
    await expect(read(text, 'x.csv')).rejects.toMatchObject({
      code: 'config.report',
      where: { file: 'x.csv', ...position },
      message: expect.stringMatching(why),
    });
  });
});

describe('what is no report', () => {
  test.each([
    ['broken JSON', '{\n  "Results": [}\n', { line: 2, column: 15 }, /invalid JSON/],
    ['JSON that ends too early', '{"Results": [', { line: 1, column: 14 }, /invalid JSON/],
    ['JSON of another program', '{"hello": 1}', { line: 1, column: 1 }, /its format is unknown/],
    ['XML', '<report/>', { line: 1, column: 1 }, /XML/],
    ['nothing', '  \n', { line: 1, column: 1 }, /empty/],
  ])('%s', async (_, text, position, why) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'config.report', where: position, message: expect.stringMatching(why) });
  });

  test('bytes', async () => {
    await expect(readReport(Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0xff]), 'x.zip')).rejects.toMatchObject({
      code: 'config.report',
      message: expect.stringMatching(/not text/),
    });
  });
});

test('a row of plain objects is a table too, and says where it is wrong', async () => {
  const report = await read('[\n {"cve": "CVE-1", "package": "a", "cvss": 4},\n {"cve": "CVE-2", "package": "b", "cvss": "x"}\n]');
  expect(report.vulnerabilities).toMatchObject([{ id: 'CVE-1', band: 'medium' }]);
  expect(report.problems).toMatchObject([{ line: 3 }]);
});

test('what a scanner wrote cannot reach the terminal', async () => {
  const { vulnerabilities } = await json(trivy([{ ...openssl, PkgName: 'a\u001b[2Jb', Title: 'x\u0007\u202e' }]));
  expect(vulnerabilities[0]).toMatchObject({ package: 'ab', title: 'x<U+202E>' });
});

test('any bytes are a report or a sentence, never anything else', async () => {
  const piece = fc.oneof(
    fc.constantFrom('{', '[', '"', ',', '\n', 'cve', 'cvss', '"matches":', '"runs":', '"Results":', ':', ']', '}', 'CVE-1', '9.8'),
    fc.string({ maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
      const text = pieces.join('');
      await read(text).catch((thrown: unknown) => {
        expect(thrown).toBeInstanceOf(Fault);
        const lines = text.split('\n');
        const { line = 0, column = 0 } = (thrown as Fault).where ?? {};
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(column).toBeGreaterThanOrEqual(1);
      });
    }),
    { numRuns: 400 },
  );
});

test('any table of good rows is read whole, however it is quoted', async () => {
  const cell = fc.string({ maxLength: 12 }).filter((text) => text.trim() !== '' && !text.includes('\u0000'));
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ name: cell, score: fc.integer({ min: 0, max: 100 }) }), { minLength: 1, maxLength: 30 }),
      async (rows) => {
        const text = `cve,package,cvss\n${rows.map(({ name, score }, at) => `CVE-${at},${quoted(name)},${(score / 10).toFixed(1)}`).join('\n')}\n`;
        const { vulnerabilities, skipped } = await read(text, 'x.csv');
        expect(skipped).toBe(0);
        expect(vulnerabilities.map(({ score }) => score)).toEqual(rows.map(({ score }) => score / 10));
      },
    ),
  );
});

test('100,000 rows are read without a second look at any of them', async () => {
  const rows = Array.from(
    { length: 100_000 },
    (_, at) =>
      `CVE-2026-${at},package-${at % 500},1.${at % 9},${(at % 100) / 10},registry.example.org/app-${at % 40}:1.${at % 3},"A summary, with a comma ${at}"`,
  );
  const report = await read(`cve,package,version,cvss,image,summary\n${rows.join('\n')}\n`, 'big.csv');
  expect(report.vulnerabilities).toHaveLength(100_000);
  expect(report.subjects).toHaveLength(40);
}, 60_000);
