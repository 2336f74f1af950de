import { describe, expect, it } from 'vitest';
import { type Answer, answered, exited, findingsOf, garbage, lan, running, silent, table, versions } from './answers.ts';

const json = (value: unknown, headers: Record<string, string> = {}, status = 200): Answer =>
  answered(status, JSON.stringify(value), headers);
const away = { state: 'exited', health: '', uptime: 0 };

const pong = answered(200, 'pong');
const goesTo = (redirectUrl: string): Answer => exited(0, JSON.stringify({ redirectUrl }));

table('pipeline-builder', [
  ['runs and has an owner', { answer: pong, calls: { resolve: goesTo('/signin') } }, 'healthy', 'ok'],
  ['has no owner', { answer: pong, calls: { resolve: goesTo('/organization-setup') } }, 'setup required', 'warning'],
  ['older than accounts', { answer: pong, calls: { resolve: exited(0, '<html></html>') } }, 'healthy', 'ok'],
  ['may not be asked inside', { answer: pong, calls: { resolve: silent } }, 'healthy', 'ok'],
  ['a login in front', { answer: answered(401) }, 'login required', 'ok'],
  ['too many questions', { answer: answered(429) }, 'busy', 'warning'],
  ['an error', { answer: answered(500) }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error', /No response/],
]);

const healthy = json({ status: 'OK', version: '2.95.12' });

table('llm-observability', [
  ['healthy', { answer: healthy, services: { db: running } }, 'healthy', 'ok'],
  ['its database has ended', { answer: healthy, services: { db: away } }, 'database down', 'error', /exited/],
  [
    'its database is unhealthy',
    { answer: healthy, services: { db: { ...running, health: 'unhealthy' } } },
    'database down',
    'error',
    /unhealthy/,
  ],
  [
    'it cannot reach its database',
    { answer: json({ status: 'Database not available', version: '2.95.12' }, {}, 503) },
    'database down',
    'error',
  ],
  [
    'another complaint',
    { answer: json({ status: 'Health check failed', version: '2.95.12' }, {}, 503) },
    'unhealthy',
    'error',
    /Health check failed/,
  ],
  ['a proxy that is busy', { answer: answered(503, 'no') }, 'busy', 'warning'],
  ['a refusal', { answer: answered(403) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 30 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const alive = json({ status: true });
const pipelines = (...ids: string[]): Answer => exited(0, ids.map((id) => `/app/pipelines/${id}.py\n`).join(''));

table('pipelines-sidecar', [
  ['two pipelines', { answer: alive, calls: { files: pipelines('a', 'b') } }, '2 pipelines', 'ok'],
  ['one pipeline', { answer: alive, calls: { files: pipelines('a') } }, '1 pipeline', 'ok'],
  ['none', { answer: alive, calls: { files: pipelines() } }, 'no pipelines', 'warning'],
  ['its folder cannot be read', { answer: alive, calls: { files: silent } }, 'running', 'ok'],
  ['a refusal', { answer: answered(403, '{"detail":"Not authenticated"}') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['installs what pipelines need', { answer: silent, age: 400 }, 'starting', 'busy', /installs/],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const step = (name: string): Answer => json({ step: name }, { 'x-version': '1.13.3' });
const all = { db: running, redis: running, worker: running, plugins: running };
const page = { page: answered(200) };

table('ai-app-platform', [
  ['ready', { answer: step('finished'), calls: page, services: all }, 'healthy', 'ok'],
  ['no account yet', { answer: step('not_started'), calls: page, services: all }, 'setup required', 'warning'],
  [
    'tables are missing',
    { answer: json({ message: 'Internal Server Error' }, {}, 500), calls: page, services: all },
    'migration required',
    'error',
    /blank/,
  ],
  ['nothing behind the gateway yet', { answer: answered(502), age: 200 }, 'starting', 'busy'],
  ['nothing behind the gateway', { answer: answered(502) }, 'API down', 'error'],
  ['database away', { answer: answered(502), services: { ...all, db: away } }, 'database down', 'error'],
  [
    'cache away',
    { answer: step('finished'), services: { ...all, redis: { ...running, health: 'unhealthy' } } },
    'cache down',
    'error',
    /unhealthy/,
  ],
  ['worker away', { answer: step('finished'), calls: page, services: { ...all, worker: away } }, 'worker down', 'error'],
  ['plugins away', { answer: step('finished'), calls: page, services: { ...all, plugins: away } }, 'plugins down', 'warning'],
  ['page away', { answer: step('finished'), calls: { page: silent }, services: all }, 'web UI down', 'error'],
  ['a refusal', { answer: answered(401) }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: page, services: all }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 250 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('code-agent', [
  ['running', { answer: json({ status: 'alive' }) }, 'running', 'ok'],
  ['a refusal', { answer: answered(403) }, 'login required', 'ok'],
  ['another program', { answer: answered(404) }, 'different path', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  ['pipeline-builder', { answer: pong, calls: { version: json({ version: '3.1.3' }) } }, '3.1.3'],
  ['pipeline-builder', { answer: pong, calls: { version: garbage } }, ''],
  ['llm-observability', { answer: healthy }, '2.95.12'],
  ['llm-observability', { answer: garbage }, ''],
  ['ai-app-platform', { answer: step('finished') }, '1.13.3'],
  ['ai-app-platform', { answer: garbage }, ''],
]);

describe('checks', () => {
  it('the pipeline builder has an owner, secrets of its own and a release that makes them', () => {
    expect(findingsOf('pipeline-builder', { resolve: goesTo('/organization-setup') })).toEqual(['set-up-open']);
    expect(findingsOf('pipeline-builder', { resolve: goesTo('/signin') })).toEqual([]);
    expect(findingsOf('pipeline-builder', {}, { env: { TOKEN_HASH_SECRET: 'popcorn' } })).toEqual(['known-token-secrets']);
    expect(findingsOf('pipeline-builder', {}, { env: { JWT_AUTH_TOKEN_SECRET: 'auth_token' } })).toEqual(['known-token-secrets']);
    expect(findingsOf('pipeline-builder', { version: json({ version: '3.0.8' }) })).toEqual(['forged-logins']);
    expect(
      findingsOf('pipeline-builder', { version: json({ version: '3.1.3' }) }, { env: { JWT_AUTH_TOKEN_SECRET: 'x'.repeat(64) } }),
    ).toEqual([]);
    expect(findingsOf('pipeline-builder', {})).toEqual([]);
  });

  it("signups of the observability server close, its secrets are nobody else's, and its settings fit its release (R82)", () => {
    expect(findingsOf('llm-observability', {}, { env: { AUTH_DISABLE_SIGNUP: 'false' } })).toEqual(['signups-open']);
    expect(findingsOf('llm-observability', {}, { env: { AUTH_DISABLE_SIGNUP: 'true', SALT: 'c2FsdA==' } })).toEqual([]);
    expect(findingsOf('llm-observability', {}, { env: { SALT: 'mysalt' } })).toEqual(['secrets-of-the-examples']);
    expect(findingsOf('llm-observability', {}, { env: { ENCRYPTION_KEY: '0'.repeat(64) } })).toEqual(['secrets-of-the-examples']);
    expect(findingsOf('llm-observability', { health: json({ status: 'OK', version: '3.155.1' }) })).toEqual(['settings-of-another-major']);
    expect(findingsOf('llm-observability', { health: healthy })).toEqual([]);
    expect(
      findingsOf('llm-observability', { health: json({ status: 'OK', version: '3.1.0' }) }, { env: { CLICKHOUSE_URL: 'http://c' } }),
    ).toEqual([]);
    expect(findingsOf('llm-observability', {}, lan('web'))).toEqual(['wider-than-loopback']);
  });

  it('the pipelines sidecar has a key of its own, stays on loopback, and tells what it could not load (R42)', () => {
    const container = (env: object): Answer => json({ state: 'running', env });
    expect(findingsOf('pipelines-sidecar', {}, { env: { PIPELINES_API_KEY: '0p3n-w3bu!' } })).toEqual(['public-key']);
    expect(findingsOf('pipelines-sidecar', { container: container({}) })).toEqual(['public-key']);
    expect(
      findingsOf('pipelines-sidecar', { container: container({ PIPELINES_API_KEY: 'ab' }) }, { env: { PIPELINES_API_KEY: 'ab' } }),
    ).toEqual([]);
    expect(findingsOf('pipelines-sidecar', {}, lan('api'))).toEqual(['open-beyond-loopback']);
    expect(findingsOf('pipelines-sidecar', { failed: exited(0, 'broken.py\n') })).toEqual(['pipelines-that-failed']);
    expect(findingsOf('pipelines-sidecar', { failed: exited(0, '') })).toEqual([]);
  });

  it('the application platform has run its second-stage migrations (R85) and has secrets of its own', () => {
    expect(findingsOf('ai-app-platform', { setup: answered(500) })).toEqual(['migrations-not-run']);
    expect(findingsOf('ai-app-platform', { setup: step('finished') })).toEqual([]);
    expect(findingsOf('ai-app-platform', { setup: step('not_started') })).toEqual(['set-up-open']);
    expect(findingsOf('ai-app-platform', {}, { env: { MIGRATION_ENABLED: 'false' } })).toEqual(['migrations-off']);
    expect(findingsOf('ai-app-platform', {}, { env: { DB_PASSWORD: 'difyai123456' } })).toEqual(['published-keys']);
    expect(findingsOf('ai-app-platform', {}, { env: { CODE_EXECUTION_ENDPOINT: 'http://localhost:8194' } })).toEqual([
      'sandbox-at-localhost',
    ]);
    expect(
      findingsOf(
        'ai-app-platform',
        {},
        { env: { MIGRATION_ENABLED: 'true', DB_PASSWORD: 'x', CODE_EXECUTION_ENDPOINT: 'http://sandbox:8194' } },
      ),
    ).toEqual([]);
    expect(findingsOf('ai-app-platform', {}, lan('gateway'))).toEqual(['wider-than-loopback']);
  });

  it('the agent names runtime and model (R24), and runs code for nobody else (R42)', () => {
    expect(findingsOf('code-agent', {}, { env: { DEFAULT_MODEL: 'llama3.2' } })).toEqual(['model-without-runtime']);
    expect(findingsOf('code-agent', {}, { env: { DEFAULT_MODEL: 'ollama/llama3.2', OLLAMA_HOST: 'http://model-runtime:11434' } })).toEqual(
      [],
    );
    expect(findingsOf('code-agent', {}, { env: { OLLAMA_HOST: 'http://localhost:11434' } })).toEqual(['ollama-host-at-localhost']);
    expect(findingsOf('code-agent', { open: answered(405) })).toEqual(['answers-without-a-key']);
    expect(findingsOf('code-agent', { open: answered(403) })).toEqual([]);
    expect(findingsOf('code-agent', {}, lan('api'))).toEqual(['wider-than-loopback']);
  });
});
