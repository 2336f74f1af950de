import { describe, expect, it } from 'vitest';
import { catalogFiles } from '../../doubles/rendered-files.ts';
import { answered, findingsOf, garbage, lan, running, silent, table, versions } from './answers.ts';

const tags = (...names: string[]) =>
  answered(
    200,
    JSON.stringify({
      models: names.map((name) => ({
        name,
        model: name,
        size: 2_019_393_189,
        digest: 'a80c4f17acd5',
        modified_at: '2026-11-01T10:00:00Z',
      })),
    }),
  );

table('model-runtime', [
  ['no model', { answer: tags() }, 'no model', 'warning', /8 GB/],
  ['null models', { answer: answered(200, '{"models":null}') }, 'no model', 'warning'],
  [
    'one model',
    { answer: tags('llama3.2:latest'), calls: { loaded: answered(200, '{"models":[]}') } },
    '1 model',
    'ok',
    /1 model is installed; none is loaded/,
  ],
  [
    'two models, one loaded',
    { answer: tags('a', 'b'), calls: { loaded: answered(200, '{"models":[{"name":"a","size":5,"size_vram":5}]}') } },
    '1 of 2 loaded',
    'ok',
    /a is loaded/,
  ],
  ['a login in front', { answer: answered(401, 'Unauthorized') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  ['busy', { answer: answered(503, '{"error":"server busy"}') }, 'busy', 'warning'],
]);

const ready = (fields: object) =>
  answered(
    200,
    JSON.stringify({ status: 'healthy', db: 'connected', cache: null, litellm_version: '1.80.0', success_callbacks: [], ...fields }),
  );

table('llm-proxy', [
  ['ready', { answer: ready({}), services: { db: running } }, 'healthy', 'ok'],
  [
    'ready with traces (R57)',
    { answer: ready({ success_callbacks: ['langfuse', 'sync_deployment_callback_on_success'] }) },
    'healthy',
    'ok',
    /Traces are sent to Langfuse/,
  ],
  ['older word for the same', { answer: answered(200, '{"status":"connected","db":"connected"}') }, 'healthy', 'ok'],
  ['database lost', { answer: ready({ db: 'disconnected' }) }, 'database down', 'error'],
  ['without a database', { answer: ready({ db: 'Not connected' }) }, 'no database', 'warning'],
  [
    'database container down',
    { answer: ready({}), services: { db: { state: 'exited', health: 'none', uptime: 0 } } },
    'database down',
    'error',
  ],
  [
    'database lost, as releases from 1.84 on say it',
    { answer: answered(503, '{"status":"healthy","db":"disconnected"}') },
    'database down',
    'error',
  ],
  ['not ready', { answer: answered(503, '{"detail":"Service Unhealthy (...)"}') }, 'not ready', 'error'],
  ['wants a key', { answer: answered(401, '{"error":{"message":"Authentication Error","code":"401"}}') }, 'key required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['migrating', { answer: silent, age: 60 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  ['model-runtime', { answer: tags(), calls: { version: answered(200, '{"version":"0.33.0"}') } }, '0.33.0'],
  ['llm-proxy', { answer: ready({}) }, '1.80.0'],
  [
    'llm-proxy',
    {
      answer: answered(200, '{"status":"healthy","db":"connected"}'),
      calls: { about: answered(200, '{"docs_title":"LiteLLM API","litellm_version":"1.92.0"}') },
    },
    '1.92.0',
  ],
]);

describe('checks', () => {
  it('a model runtime beyond loopback is an error, for it has no login (R42)', () => {
    expect(findingsOf('model-runtime', {}, lan('api'))).toContain('wider-than-loopback');
  });

  it('traces need both the callback and the key pair (R57)', () => {
    const traced = { configuration: answered(0, 'model_list: []\nlitellm_settings:\n  success_callback: [langfuse]\n') };
    expect(findingsOf('llm-proxy', traced)).toEqual(['traces-without-keys']);
    expect(findingsOf('llm-proxy', traced, { env: { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk' } })).toEqual([]);
    expect(
      findingsOf(
        'llm-proxy',
        { configuration: answered(0, 'model_list: []\n') },
        { env: { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk' } },
      ),
    ).toEqual(['keys-without-traces']);
  });

  it('the delivered configuration of the LLM proxy is free of complaints, one with a key or without the prefix is not (R25)', async () => {
    const delivered = (await catalogFiles()).files('llm-proxy')['files/config.yaml'] ?? '';
    expect(findingsOf('llm-proxy', { configuration: answered(0, delivered) })).toEqual([]);
    expect(
      findingsOf('llm-proxy', { configuration: answered(0, delivered.replace('os.environ/LITELLM_MASTER_KEY', 'sk-1234567890abcdef')) }),
    ).toEqual(['key-in-configuration']);
    expect(findingsOf('llm-proxy', { configuration: answered(0, delivered.replaceAll('ollama/', '')) })).toEqual(['model-without-prefix']);
    const asOpenAi = 'model_list:\n  - litellm_params:\n      model: openai/llama3.2\n      api_base: http://model-runtime:11434/v1\n';
    expect(findingsOf('llm-proxy', { configuration: answered(0, asOpenAi) })).toEqual([]);
  });
});
