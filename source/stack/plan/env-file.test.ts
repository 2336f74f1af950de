import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { requiredProgram } from '../../../test/required.ts';
import { envLine, envValueProblem, readEnv, writeEnv } from './env-file.ts';

const hard = fc.string({
  unit: fc.constantFrom('a', 'Z', '0', ' ', '#', '$', '{', '}', '"', "'", '\\', '=', ':', '!', '`', '%', 'ü', '&', '*'),
  maxLength: 12,
});

describe('readEnv', () => {
  it('reads what people write there', () => {
    const { values } = readEnv(
      [
        '# a comment',
        '',
        'PLAIN=one',
        'export EXPORTED=two',
        "SINGLE='a $b # c'",
        'DOUBLE="line\\none \\"x\\""',
        'COMMENT=value # not this',
        'HASH=a#b',
        'SPACED = three',
        'EMPTY=',
        'TWICE=1',
        'TWICE=2',
        'FROM=${PLAIN}/x-${NONE:-y}$$',
        "APOSTROPHE=it's",
        'ALONE',
      ].join('\r\n'),
    );
    expect(values).toEqual({
      PLAIN: 'one',
      EXPORTED: 'two',
      SINGLE: 'a $b # c',
      DOUBLE: 'line\none "x"',
      COMMENT: 'value',
      HASH: 'a#b',
      SPACED: 'three',
      EMPTY: '',
      TWICE: '2',
      FROM: 'one/x-y$$',
      APOSTROPHE: "it's",
    });
  });

  it.each([
    ['A=1\nhalf+a+key here\n', 2, '/s/app/.env cannot be read: the line does not start with a variable name.'],
    ['A=1\n\nB="open\nC=2\n', 3, 'never closed'],
    ["A='x' y\n", 1, 'text after the closing quote'],
  ])('names the line that it cannot read: %j', (text, line, words) => {
    expect(() => readEnv(text, '/s/app/.env')).toThrowError(
      expect.objectContaining({ code: 'config.env', message: expect.stringContaining(words), where: { file: '/s/app/.env', line } }),
    );
  });

  it('never fails but with a sentence', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('A', '=', ' ', '#', '$', '{', '}', '"', "'", '\\', '\n') }), (text) => {
        try {
          readEnv(text);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: 'config.env', where: { line: expect.any(Number) } });
        }
      }),
    );
  });
});

describe('writeEnv', () => {
  it('says what was asked, whatever it is made of', () => {
    fc.assert(
      fc.property(hard, (value) => {
        fc.pre(envValueProblem(value) === undefined);
        expect(readEnv(`${envLine('A', value)}\nB=next\n`).values).toEqual({ A: value, B: 'next' });
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps what the operator wrote, in its order, and changes only what changed', () => {
    const existing = '# mine\nWEB_PORT=8181   # because of the printer\n\nOTHER="keep me"\nTZ=Etc/UTC\nOLD=1\n';
    expect(writeEnv(existing, { set: { TZ: 'Europe/Berlin', WEB_PORT: '8181', NEW: 'a b' }, unset: ['OLD'], header: ['not again'] })).toBe(
      '# mine\nWEB_PORT=8181   # because of the printer\n\nOTHER="keep me"\nTZ=Europe/Berlin\nNEW=\'a b\'\n',
    );
  });

  it('begins a new file with its header', () => {
    expect(writeEnv(undefined, { set: { A: '1' }, unset: [], header: ['first', 'second'] })).toBe('# first\n# second\nA=1\n');
  });

  it('refuses with a sentence what the compose tools do not read alike', () => {
    expect(envValueProblem('a\nb')).toBe('The value must be one line.');
    expect(envValueProblem('a${b}')).toContain('${…}');
    expect(envValueProblem("it's $5")).toContain('must not mix quotes, backslashes and dollar signs');
    expect(envValueProblem('C:\\data and "more" $5 #1')).toBeUndefined();
  });
});

/** The available programs, each with its result for a `.env` file. */
const folder = mkdtempSync(join(tmpdir(), 'env-file-'));
afterAll(() => rmSync(folder, { recursive: true }));
const has = (program: string, ...args: string[]) => {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const composeTwo = () => {
  for (const argv of [['docker', 'compose'], [process.env['QUARTERDECK_TEST_COMPOSE'] ?? '']]) {
    if (argv[0] && has(argv[0], ...argv.slice(1), 'version')) return argv;
  }
  return undefined;
};

const samples = [
  'with space',
  'has # hash',
  'a#b',
  '$HOME and $x',
  'say "hi"',
  "it's",
  "it's # not",
  'C:\\data',
  '\\\\server\\share',
  '$$',
  'a=b',
  ' edge ',
  'ümlaut',
  "'",
  '"',
  '"x"',
  "'x'",
  '\\n',
];
const few = [...samples, ...fc.sample(hard, { numRuns: 60, seed: 4 })].filter((value) => envValueProblem(value) === undefined);

function readBy(argv: readonly string[]): Record<string, string> {
  writeFileSync(join(folder, '.env'), few.map((value, index) => `${envLine(`V${index}`, value)}\n`).join(''));
  const services = {
    a: { image: 'busybox', environment: Object.fromEntries(few.map((_, index) => [`V${index}`, `\${V${index}-missing}`])) },
  };
  writeFileSync(join(folder, 'compose.yaml'), JSON.stringify({ services }));
  const [program = '', ...args] = argv;
  const two = argv.includes('--format');
  const output = execFileSync(program, [...args], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const parsed = two ? JSON.parse(output) : parseFlat(output);
  return Object.fromEntries(
    Object.entries(parsed.services.a.environment as Record<string, string>).map(([name, value]) => [name, value.replaceAll('$$', '$')]),
  );
}

function parseFlat(output: string) {
  return JSON.parse(
    execFileSync('/usr/bin/python3', ['-c', 'import sys,yaml,json;print(json.dumps(yaml.safe_load(sys.stdin)))'], {
      input: output,
      encoding: 'utf8',
    }),
  );
}

const expected = Object.fromEntries(few.map((value, index) => [`V${index}`, value]));

describe('the compose tools', () => {
  it.skipIf(requiredProgram('docker-compose') || !has('/usr/bin/python3', '-c', 'import yaml'))(
    'docker-compose 1.29 reads the same values',
    () => {
      expect(readBy(['docker-compose', 'config'])).toEqual(expected);
    },
  );

  const two = composeTwo();
  it.skipIf(two === undefined)('compose 2 reads the same values', () => {
    expect(readBy([...(two ?? []), 'config', '--format', 'json'])).toEqual(expected);
  });

  it.skipIf(requiredProgram('/usr/lib/python3/dist-packages/podman_compose.py', 'podman-compose'))(
    'podman-compose reads the same values',
    () => {
      writeFileSync(join(folder, '.env'), few.map((value, index) => `${envLine(`V${index}`, value)}\n`).join(''));
      const script = 'import json;from dotenv import dotenv_values;print(json.dumps(dotenv_values(".env")))';
      expect(JSON.parse(execFileSync('/usr/bin/python3', ['-c', script], { cwd: folder, encoding: 'utf8' }))).toEqual(expected);
    },
  );
});
