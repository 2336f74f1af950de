import { expect, test } from 'vitest';
import { readAnswers } from '../cli/answers.ts';
import { readConfigText } from '../config-files/config-text.ts';
import { PolicyText } from '../config-files/headscale-policy/text.ts';
import { declaredServices } from '../fleet/compose-services.ts';
import { readableLine } from '../logs/structured-line.ts';
import { readPortalConfig } from '../products/authelia/client/sso-config.ts';
import { parseMachineLogin } from '../products/crowdsec/client/crowdsec-api.ts';
import { inspectToken } from '../products/identity/client/token-inspector.ts';
import { readReport } from '../products/vulnerabilities/client/read-report.ts';
import { manifestOf } from '../stack/backup/manifest.ts';
import { composeDocument } from '../stack/plan/compose-document.ts';
import { YamlDocument } from '../yaml/document.ts';

const base64url = (text: string) => Buffer.from(text).toString('base64url');
const brackets = '['.repeat(300_000);
const closed = `${brackets}${']'.repeat(300_000)}`;
const maps = '{"a": '.repeat(300_000);

/** The result of each reader of outside text: a value, or the fault that is shown. */
const readers: [string, (text: string) => unknown][] = [
  ['a YAML file', (text) => new YamlDocument(text).problems.map(({ message }) => message)],
  ['a compose file', (text) => composeDocument(text).problems.map(({ message }) => message)],
  ['services of a compose file', (text) => declaredServices(text)],
  ['a configuration file in YAML', (text) => readConfigText(text, { format: 'yaml' }).problems.map(({ message }) => message)],
  ['a configuration file in JSON', (text) => readConfigText(text, { format: 'json' }).problems.map(({ message }) => message)],
  ['a configuration file of Kea', (text) => readConfigText(text, { format: 'kea-json' }).problems.map(({ message }) => message)],
  ['a configuration file in HCL', (text) => readConfigText(`a = ${text}`, { format: 'hcl' }).problems.map(({ message }) => message)],
  ['a policy of the mesh', (text) => new PolicyText(text).findings.map(({ message }) => message)],
  ['a manifest of a backup', (text) => manifestOf(Buffer.from(text), undefined)],
  ['the login of a machine', (text) => parseMachineLogin(text)],
  ['the configuration of a portal', (text) => readPortalConfig(text)],
  ['a line of a log', (text) => readableLine(text)],
  ['a report of a scanner', (text) => readReport(Buffer.from(text), 'scan.json')],
  [
    'the claims of a token',
    (text) =>
      inspectToken(`${base64url('{"alg":"none"}')}.${base64url(`{"a": ${text}}`)}.`, {
        keys: undefined,
        issuer: undefined,
        audience: undefined,
        nowMs: 0,
      }),
  ],
  [
    'the header of a token',
    (text) =>
      inspectToken(`${base64url(`{"alg": ${text}}`)}.${base64url('{}')}.`, {
        keys: undefined,
        issuer: undefined,
        audience: undefined,
        nowMs: 0,
      }),
  ],
  ['answers', (text) => readAnswers('-', async () => Buffer.from(text), AbortSignal.timeout(10_000))],
];

test.each(readers.flatMap(([what, read]) => [brackets, closed, maps].map((text) => [what, text.slice(0, 8), text, read] as const)))(
  '%s that begins %s and is nested without end is refused, and does not fill the stack',
  async (_what, _begin, text, read) => {
    const outcome = await Promise.resolve()
      .then(() => read(text))
      .catch((thrown: unknown) => thrown);
    expect(outcome).not.toBeInstanceOf(RangeError);
    expect(JSON.stringify(outcome) ?? '').not.toContain('call stack');
    if (Array.isArray(outcome)) for (const message of outcome) expect(message).toMatch(/nested (?:more than|too deep)|not a valid value/i);
  },
);
