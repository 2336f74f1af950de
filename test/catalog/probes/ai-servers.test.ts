import { describe, expect, it } from 'vitest';
import { type Answer, answered, exited, findingsOf, garbage, lan, opened, running, silent, table, versions } from './answers.ts';

const json = (value: unknown, status = 200) => answered(status, JSON.stringify(value));
const refused = answered(401, 'Unauthorized');

// Open WebUI, backend/open_webui/main.py
const chat = (fields: object = {}, features: object = {}) =>
  json({ status: true, name: 'Open WebUI', version: '0.9.6', ...fields, features: { auth: true, enable_signup: false, ...features } });

table('chat-front-end', [
  ['ready', { answer: chat(), calls: { database: json({ status: true }) } }, 'healthy', 'ok'],
  [
    'nobody has an account (R47)',
    { answer: chat({ onboarding: true }, { enable_signup: true }) },
    'setup required',
    'warning',
    /administrator/,
  ],
  ['sign-ups open', { answer: chat({}, { enable_signup: true }) }, 'sign-ups open', 'ok'],
  ['login off', { answer: chat({}, { auth: false }) }, 'no login', 'warning', /WEBUI_AUTH/],
  [
    'database away',
    { answer: chat(), calls: { database: answered(500, 'Internal Server Error') } },
    'database down',
    'error',
    /status 500/,
  ],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent and young', { answer: silent, age: 250 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

// LocalAI, core/http/routes/health.go, core/http/endpoints/openai/list.go
const models = (...ids: string[]) => json({ object: 'list', data: ids.map((id) => ({ id, object: 'model' })) });
const empty = answered(200);

table('local-chat-server', [
  ['two models', { answer: empty, calls: { models: models('a', 'b') } }, '2 models', 'ok', /2 models are installed/],
  ['one model', { answer: empty, calls: { models: models('a') } }, '1 model', 'ok'],
  ['no model (R78)', { answer: empty, calls: { models: models() } }, 'no model', 'warning', /8 GB/],
  ['no model, as older releases say it', { answer: empty, calls: { models: json({ object: 'list', data: null }) } }, 'no model', 'warning'],
  ['with a key', { answer: empty, calls: { models: refused } }, 'key required', 'ok'],
  ['its models unknown', { answer: empty }, 'healthy', 'ok'],
  ['fetches what is to be there', { answer: json({ status: 'starting', reason: 'startup preload in progress' }, 503) }, 'starting', 'busy'],
  [
    'does not listen yet',
    { answer: silent, age: 900, services: { localai: { state: 'running', health: 'starting', uptime: 900 } } },
    'starting',
    'busy',
    /first downloads/,
  ],
  ['turns away', { answer: json({ error: 'busy' }, 503) }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, services: { localai: running } }, 'unreachable', 'error'],
]);

// ComfyUI, server.py
const comfy = (...devices: { name: string; type: string }[]) =>
  json({ system: { os: 'linux', ram_total: 33_000_000_000, comfyui_version: '0.8.2', pytorch_version: '2.9.1+cpu' }, devices });
const cpu = { name: 'cpu', type: 'cpu' };
const files = (...names: string[]) => json(names);
const remaining = (count: number) => json({ exec_info: { queue_remaining: count } });

table('image-node-graph', [
  ['ready', { answer: comfy(cpu), calls: { queue: remaining(0), checkpoints: files('sd15.safetensors') } }, 'healthy', 'ok', /on cpu/],
  ['working', { answer: comfy(cpu), calls: { queue: remaining(2) } }, '2 queued', 'ok', /2 workflows are running or queued, on cpu/],
  ['no model', { answer: comfy(cpu), calls: { queue: remaining(0), checkpoints: files(), diffusion: files() } }, 'no model', 'warning'],
  ['a diffusion model alone', { answer: comfy(cpu), calls: { checkpoints: files(), diffusion: files('flux.gguf') } }, 'healthy', 'ok'],
  ['no devices told', { answer: comfy() }, 'healthy', 'ok', /^The web UI responds\.$/],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent and young', { answer: silent, age: 200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

// Stable Diffusion web UI, modules/api/api.py
const progress = (state: object = {}) =>
  json({ progress: 0, eta_relative: 0, state: { job: '', job_count: 0, sampling_step: 0, sampling_steps: 0, ...state }, textinfo: null });

table('image-form', [
  ['idle', { answer: progress(), calls: { models: json([{ title: 'v1-5.safetensors' }]) } }, 'healthy', 'ok'],
  ['working', { answer: progress({ job_count: 1, sampling_step: 7, sampling_steps: 20 }) }, 'working', 'ok', /Step 7 of 20/],
  ['beginning, its steps unknown', { answer: progress({ job_count: -1 }) }, 'working', 'ok', /^A job is running\.$/],
  ['no checkpoint', { answer: progress(), calls: { models: json([]) } }, 'no model', 'warning'],
  ['without its API', { answer: json({ detail: 'Not Found' }, 404) }, 'API off', 'warning', /--api/],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['installs its packages', { answer: silent, age: 1200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

// InvokeAI, invokeai/app/api/routers
const invoke = json({ version: '6.13.8' });
const setup = (fields: object) => json({ setup_required: false, multiuser_enabled: false, strict_password_checking: false, ...fields });
const queue = (counts: object, started = true) =>
  json({ queue: { pending: 0, in_progress: 0, failed: 1, ...counts }, processor: { is_started: started, is_processing: false } });

table('image-canvas', [
  [
    'ready',
    { answer: invoke, calls: { setup: setup({}), queue: queue({}), models: json({ models: [{ key: 'a' }] }) } },
    'healthy',
    'ok',
    /empty/,
  ],
  ['no model', { answer: invoke, calls: { queue: queue({}), models: json({ models: [] }) } }, 'no model', 'warning'],
  [
    'working',
    { answer: invoke, calls: { queue: queue({ pending: 3, in_progress: 1 }) } },
    '4 queued',
    'ok',
    /1 running, 3 waiting, 1 failed/,
  ],
  ['queue paused', { answer: invoke, calls: { queue: queue({ pending: 3 }, false) } }, 'queue paused', 'warning', /3 jobs are waiting/],
  [
    'accounts without an administrator (R47)',
    { answer: invoke, calls: { setup: setup({ setup_required: true, multiuser_enabled: true }) } },
    'setup required',
    'warning',
  ],
  [
    'accounts',
    { answer: invoke, calls: { setup: setup({ multiuser_enabled: true }), queue: refused, models: refused } },
    'healthy',
    'ok',
    /^The web UI responds\.$/,
  ],
  ['a release without accounts', { answer: invoke, calls: { setup: json({ detail: 'Not Found' }, 404) } }, 'healthy', 'ok'],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent and young', { answer: silent, age: 200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

// whisper-asr-webservice, app/webservice.py
const whisper = json({
  openapi: '3.1.0',
  info: { title: 'Whisper Asr Webservice', version: '1.9.1' },
  paths: { '/asr': {}, '/detect-language': {} },
});

table('speech-to-text', [
  ['ready', { answer: whisper, env: { ASR_MODEL: 'small' } }, 'healthy', 'ok', /Its model is small/],
  ['its model unknown', { answer: whisper }, 'healthy', 'ok', /^The server responds\.$/],
  ['another program of the kind', { answer: json({ info: { title: 'x', version: '1' }, paths: {} }) }, 'unexpected response', 'warning'],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['downloads its model', { answer: silent, age: 600, env: { ASR_MODEL: 'large' } }, 'starting', 'busy', /model large is/],
  ['silent: perhaps at work', { answer: silent }, 'unreachable', 'warning', /may be busy.*No response after 3 s/],
]);

// Kokoro-FastAPI, api/src/main.py, api/src/routers/openai_compatible.py
const healthy = json({ status: 'healthy' });
const voices = (...ids: string[]) => json({ voices: ids.map((id) => ({ id, name: id })) });
const kokoro = json({ info: { title: 'Kokoro TTS API', version: '0.8.0' } });

table('tts-high-quality', [
  ['voices', { answer: healthy, calls: { voices: voices('af_heart', 'bm_george') } }, '2 voices', 'ok'],
  ['voices as older releases tell them', { answer: healthy, calls: { voices: json({ voices: ['af_heart', 'af_bella'] }) } }, '2 voices'],
  ['no voices', { answer: healthy, calls: { voices: voices() } }, 'no voices', 'error'],
  ['voices broken', { answer: healthy, calls: { voices: json({ detail: {} }, 500) } }, 'no voices', 'error'],
  ['voices unknown', { answer: healthy }, 'healthy', 'ok'],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent and young', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

// files/rest.py
const away = json({ error: 'No valid response from the protocol server: [Errno 111] Connection refused' }, 503);

table('tts-light', [
  ['ready', { answer: json({ status: 'ok', voices: 162 }), calls: { listening: opened } }, 'healthy', 'ok', /162 voices/],
  ['downloads its voice', { answer: away, calls: { listening: silent }, age: 60 }, 'starting', 'busy'],
  ['protocol server away', { answer: away, calls: { listening: silent } }, 'Wyoming server down', 'error', /Connection refused/],
  ['REST server away', { answer: silent, calls: { listening: opened } }, 'REST server down', 'warning', /No response after 3 s/],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, calls: { listening: silent } }, 'unreachable', 'error'],
]);

// Tabby, ee/tabby-schema/graphql/schema.graphql
const tabby = (fields: object = {}) =>
  exited(0, JSON.stringify({ data: { serverInfo: { isAdminInitialized: true, allowSelfSignup: false, ...fields } } }));

table('code-completion', [
  ['wants a token', { answer: refused, calls: { server: tabby() }, env: { TABBY_DEVICE: 'cpu' } }, 'healthy', 'ok', /runs on cpu/],
  ['without accounts', { answer: json({ device: 'cpu', models: {} }) }, 'healthy', 'ok'],
  [
    'nobody has an account (R47)',
    { answer: refused, calls: { server: tabby({ isAdminInitialized: false }) } },
    'setup required',
    'warning',
  ],
  ['sign-ups open', { answer: refused, calls: { server: tabby({ allowSelfSignup: true }) } }, 'sign-ups open', 'ok'],
  ['curl failed', { answer: refused, calls: { server: exited(7, '') } }, 'healthy', 'ok'],
  ['a proxy in between', { answer: answered(502, 'Bad Gateway') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['downloads its model', { answer: silent, age: 600 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error', /libcuda/],
]);

// AnythingLLM, server/models/systemSettings.js, server/endpoints/utils.js
const workspace = (results: object = {}) =>
  json({ results: { RequiresAuth: true, MultiUserMode: false, LLMProvider: 'ollama', VectorDB: 'lancedb', ...results } });
const metrics = json({ online: true, version: '0b1c2d3', mode: 'single-user', vectorDB: 'lancedb', appVersion: '1.16.0' });

table('rag-workspace', [
  ['ready', { answer: workspace(), calls: { metrics } }, 'healthy', 'ok', /It uses ollama, and stores vectors in lancedb/],
  ['its mode unknown', { answer: workspace() }, 'healthy', 'ok'],
  ['no password (R42)', { answer: workspace({ RequiresAuth: false }) }, 'no login', 'warning'],
  ['accounts', { answer: workspace({ RequiresAuth: false, MultiUserMode: true }) }, 'healthy', 'ok'],
  ['nobody answers', { answer: workspace({ LLMProvider: undefined }) }, 'setup required', 'warning'],
  ['fails', { answer: answered(500, 'Internal Server Error') }, 'unhealthy', 'error'],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

// Vane, src/app/manifest.ts, docs/API/SEARCH.md
const vane = json({ name: 'Vane - Direct Your Curiosity', short_name: 'Vane', start_url: '/' });
const provider = (chats: string[], embeddings: string[] = []) => ({
  id: '550e8400',
  name: 'Ollama',
  chatModels: chats.map((key) => ({ key, name: key })),
  embeddingModels: embeddings.map((key) => ({ key, name: key })),
});
const providers = (...list: object[]) => json({ providers: list });
const inside = { SEARXNG_API_URL: 'http://vane:8080' };

table('ai-search', [
  ['ready', { answer: vane, calls: { providers: providers(provider(['llama3.2'])), engine: exited(0, '') }, env: inside }, 'healthy', 'ok'],
  ['no provider', { answer: vane, calls: { providers: providers() } }, 'no model', 'warning'],
  ['embeddings alone', { answer: vane, calls: { providers: providers(provider([], ['a'])) } }, 'no model', 'warning'],
  [
    'its search engine away',
    { answer: vane, calls: { providers: providers(provider(['a'])), engine: exited(7, '') }, env: inside },
    'search down',
    'error',
  ],
  [
    'another search engine',
    {
      answer: vane,
      calls: { providers: providers(provider(['a'])), engine: exited(127, '') },
      env: { SEARXNG_API_URL: 'http://searx:8080' },
    },
    'healthy',
    'ok',
  ],
  ['its providers unknown', { answer: vane }, 'healthy', 'ok'],
  ['a login in front', { answer: refused }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  ['chat-front-end', { answer: chat() }, '0.9.6'],
  ['chat-front-end', { answer: garbage }, ''],
  ['local-chat-server', { answer: empty, calls: { version: json({ version: 'v4.9.0 (0a1b2c3)' }) } }, 'v4.9.0'],
  ['image-node-graph', { answer: comfy(cpu) }, '0.8.2'],
  ['image-canvas', { answer: invoke }, '6.13.8'],
  ['speech-to-text', { answer: whisper }, '1.9.1'],
  ['tts-high-quality', { answer: healthy, calls: { description: kokoro } }, '0.8.0'],
  ['tts-light', { answer: away, calls: { program: exited(0, '2.4.3\n') } }, '2.4.3'],
  ['tts-light', { answer: away, calls: { program: exited(2, 'usage: ...') } }, ''],
  ['code-completion', { answer: refused, calls: { program: exited(0, 'tabby 0.32.0\n') } }, '0.32.0'],
  ['rag-workspace', { answer: workspace(), calls: { metrics } }, '1.16.0'],
  ['ai-search', { answer: vane, calls: { program: exited(0, '1.12.1\n') } }, '1.12.1'],
]);

describe('checks', () => {
  const open = (id: string, port: string, calls: Record<string, Answer> = {}) => findingsOf(id, calls, lan(port));

  it.each([
    ['local-chat-server', 'api'],
    ['image-node-graph', 'web'],
    ['image-form', 'web'],
    ['image-canvas', 'web'],
    ['speech-to-text', 'api'],
    ['tts-high-quality', 'api'],
    ['tts-light', 'protocol'],
    ['ai-search', 'web'],
    ['chat-front-end', 'web'],
    ['rag-workspace', 'web'],
    ['code-completion', 'web'],
  ])('%s on other addresses than loopback is an error (R9, R42)', (id, port) => {
    expect(open(id, port)).toEqual(['wider-than-loopback']);
  });

  it('what has a login of its own may be wider (R42)', () => {
    expect(findingsOf('local-chat-server', {}, { ...lan('api'), env: { LOCALAI_API_KEY: 'k' } })).toEqual([]);
    expect(findingsOf('local-chat-server', {}, { ...lan('api'), env: { API_KEY: 'k' } })).toEqual([]);
    expect(open('image-canvas', 'web', { setup: setup({ multiuser_enabled: true }) })).toEqual([]);
  });

  it('a first account that nobody has is told (R47)', () => {
    expect(findingsOf('chat-front-end', { config: chat({ onboarding: true }) })).toEqual(['nobody-is-administrator']);
    expect(findingsOf('chat-front-end', { config: chat() })).toEqual([]);
    expect(findingsOf('code-completion', { server: tabby({ isAdminInitialized: false }) })).toEqual(['no-administrator']);
    expect(findingsOf('code-completion', { server: tabby() })).toEqual([]);
    expect(findingsOf('image-canvas', { setup: setup({ setup_required: true, multiuser_enabled: true }) })).toEqual(['no-administrator']);
  });

  it('a login that is off is told (R42)', () => {
    expect(findingsOf('chat-front-end', { config: chat({}, { auth: false }) })).toEqual(['login-off']);
    expect(findingsOf('rag-workspace', { setup: workspace({ RequiresAuth: false }) })).toEqual(['nobody-has-to-log-in']);
    expect(findingsOf('rag-workspace', { setup: workspace() })).toEqual([]);
  });

  it('the model runtime at localhost is an error (R14)', () => {
    const at = (id: string, name: string, host: string) => findingsOf(id, {}, { env: { [name]: `http://${host}:11434` } });
    expect(at('chat-front-end', 'OLLAMA_BASE_URL', 'localhost')).toEqual(['ollama-base-url-at-localhost']);
    expect(at('chat-front-end', 'OLLAMA_BASE_URL', 'host.containers.internal')).toEqual([]);
    expect(at('rag-workspace', 'OLLAMA_BASE_PATH', '127.0.0.1')).toEqual(['ollama-base-path-at-localhost']);
    expect(at('rag-workspace', 'OLLAMA_BASE_PATH', 'model-runtime')).toEqual([]);
    expect(at('ai-search', 'OLLAMA_BASE_URL', 'localhost')).toEqual(['ollama-base-url-at-localhost']);
  });

  it('what lies beside its volume is told', () => {
    expect(findingsOf('local-chat-server', {}, { env: { MODELS_PATH: '/data/models' } })).toEqual(['models-beside-the-volume']);
    expect(findingsOf('local-chat-server', {}, { env: { MODELS_PATH: '/models' } })).toEqual([]);
    expect(findingsOf('rag-workspace', {}, { env: { STORAGE_DIR: '/storage' } })).toEqual(['storage-beside-the-volume']);
    expect(findingsOf('rag-workspace', {}, { env: { STORAGE_DIR: '/app/server/storage', DISABLE_TELEMETRY: 'true' } })).toEqual([]);
    expect(findingsOf('rag-workspace', {}, { env: { DISABLE_TELEMETRY: 'false' } })).toEqual(['telemetry-on']);
  });

  it('the device that computes is told where it is the slow one, or none', () => {
    const container = (...devices: string[]) => json({ state: 'running', devices });
    expect(findingsOf('local-chat-server', { container: container() })).toEqual(['no-graphics-device']);
    for (const device of ['/dev/dri', 'gpu']) expect(findingsOf('local-chat-server', { container: container(device) })).toEqual([]);
    expect(findingsOf('model-runtime', { container: container('gpu') })).toEqual([]);
    expect(findingsOf('image-node-graph', { stats: comfy(cpu) })).toEqual(['computes-on-the-cpu']);
    expect(findingsOf('image-node-graph', { stats: comfy({ name: 'cuda:0 RTX 3060', type: 'cuda' }) })).toEqual([]);
    const cuda = { env: { TABBY_DEVICE: 'cuda' } };
    expect(findingsOf('code-completion', { container: container('/dev/dri') }, cuda)).toEqual(['cuda-without-card']);
    expect(findingsOf('code-completion', { container: container('nvidia.com/gpu=all') }, cuda)).toEqual([]);
    expect(findingsOf('code-completion', { container: container('gpu') }, cuda)).toEqual([]);
    expect(findingsOf('code-completion', {}, { env: { TABBY_DEVICE: 'metal' } })).toEqual(['device-not-applicable']);
  });

  it('what the image form must not do is told', () => {
    const started = (text: string) => findingsOf('image-form', {}, { env: { COMMANDLINE_ARGS: text } });
    expect(started('--medvram --share')).toEqual(['shared-with-the-internet']);
    expect(started('--enable-insecure-extension-access')).toEqual(['extensions-from-outside']);
    expect(started('--skip-torch-cuda-test --use-cpu all')).toEqual([]);
  });

  it('a speech model or voice that does not exist is told (R23)', () => {
    expect(findingsOf('speech-to-text', {}, { env: { ASR_MODEL: 'huge' } })).toEqual(['unknown-model']);
    expect(findingsOf('speech-to-text', {}, { env: { ASR_MODEL: 'large-v3' } })).toEqual([]);
    expect(findingsOf('speech-to-text', {}, { env: { ASR_MODEL: 'turbo' } })).toEqual([]);
    const distilled = { ASR_MODEL: 'distil-large-v3' };
    expect(findingsOf('speech-to-text', {}, { env: { ...distilled, ASR_ENGINE: 'openai_whisper' } })).toEqual(['unknown-model']);
    expect(findingsOf('speech-to-text', {}, { env: { ...distilled, ASR_ENGINE: 'faster_whisper' } })).toEqual([]);
    const heart = { env: { DEFAULT_VOICE: 'af_heart' } };
    expect(findingsOf('tts-high-quality', { voices: voices('af_bella') }, heart)).toEqual(['default-voice-unknown']);
    expect(findingsOf('tts-high-quality', { voices: voices('af_heart') }, heart)).toEqual([]);
    expect(findingsOf('tts-high-quality', { voices: json({ voices: ['af_heart'] }) }, heart)).toEqual([]);
  });

  it('half of the light speech server is told', () => {
    expect(findingsOf('tts-light', { health: away, listening: opened })).toEqual(['rest-without-protocol']);
    expect(findingsOf('tts-light', { health: away, listening: silent })).toEqual([]);
  });

  it('an AI search without models is told', () => {
    expect(findingsOf('ai-search', { providers: providers() })).toEqual(['no-chat-model']);
    expect(findingsOf('ai-search', { providers: providers(provider(['a'])) })).toEqual(['no-embedding-model']);
    expect(findingsOf('ai-search', { providers: providers(provider(['a'], ['b'])) })).toEqual([]);
  });
});
