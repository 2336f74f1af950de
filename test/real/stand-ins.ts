import { spawn } from 'node:child_process';
import { glob, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { pack } from 'tar-stream';
import { ask } from './ask.ts';
import type { RealEngine } from './real-engines.ts';

/** An image that `test/real/images` builds with other files in it, another program, and another name. */
export interface StandIn {
  /** `docker.io/ollama/ollama`, without a tag: it gets `tag`. */
  name: string;
  tag: string;
  from: string;
  /** By path without the slash at its beginning; a shell script and a program are made executable. */
  files: Readonly<Record<string, string | Buffer>>;
  /** Of this machine: what is in it goes to the root, as it is. */
  folder?: string;
  /** Empty ones, and the number of the user and group that each belongs to. */
  owned?: Readonly<Record<string, number>>;
  /** In the syntax of a Dockerfile: `CMD ["httpd"]`. */
  changes: readonly string[];
}

/** Makes it in the engine itself, without a registry: some names (`ghcr.io/…`) no test registry can serve. */
export async function makeStandIn(engine: RealEngine, { name, tag, from, files, folder, owned = {}, changes }: StandIn): Promise<void> {
  const archive = pack();
  for (const [path, content] of Object.entries(files))
    archive.entry(
      { name: path, mode: typeof content !== 'string' || content.startsWith('#!') ? 0o755 : 0o644, mtime: new Date(0) },
      content,
    );
  for (const [path, id] of Object.entries(owned))
    archive.entry({ name: `${path}/`, type: 'directory', mode: 0o755, uid: id, gid: id, mtime: new Date(0) });
  archive.finalize();
  const json = { 'Content-Type': 'application/json' };
  const made = await ask(engine, '/containers/create', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ Image: from, Cmd: ['true'] }),
  });
  if (made.status !== 201) throw new Error(`${from}: ${made.body}`);
  const { Id } = JSON.parse(made.body) as { Id: string };
  const unpack = (tar: Readable) =>
    new Promise<void>((resolve, reject) => {
      const options = { socketPath: engine.socket, path: `/containers/${Id}/archive?path=%2F`, method: 'PUT' };
      const put = request({ ...options, headers: { 'Content-Type': 'application/x-tar' } }, (answer) => {
        text(answer).then((said) => (answer.statusCode === 200 ? resolve() : reject(new Error(said))), reject);
      });
      pipeline(tar, put).catch(reject);
    });
  if (folder !== undefined) {
    const tar = spawn('tar', ['-C', folder, '--owner=0', '--group=0', '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await unpack(tar.stdout);
  }
  await unpack(archive);
  const query = new URLSearchParams([
    ['container', Id],
    ['repo', name],
    ['tag', tag],
    ...changes.map((change): [string, string] => ['changes', change]),
  ]);
  const kept = await ask(engine, `/commit?${query}`, { method: 'POST', headers: json, body: '{}', limitMs: 180_000 });
  await ask(engine, `/containers/${Id}?force=true&v=true`, { method: 'DELETE', limitMs: 180_000 });
  if (kept.status !== 201) throw new Error(`${name}: ${kept.body}`);
}

/** Speaks as the model runtime does, as far as a list of models. */
export const modelRuntime: StandIn = {
  name: 'docker.io/ollama/ollama',
  tag: 'latest',
  from: 'busybox:latest',
  files: {
    'www/api/tags': '{"models":[{"name":"llama3.2:latest","size":1}]}\n',
    'www/api/ps': '{"models":[]}\n',
    'www/api/version': '{"version":"0.9.0"}\n',
  },
  changes: ['CMD ["httpd","-f","-p","11434","-h","/www"]'],
};

/**
 * Speaks as the LLM proxy does: logs in to its database with the password that it was given, asks the model runtime where a chat does, and lets in who has
 * the master key. A line `# only-key: SHA-256` in its configuration makes it refuse to start with any other.
 */
export const llmProxy: StandIn = {
  name: 'ghcr.io/berriai/litellm',
  tag: 'latest',
  from: 'postgres:16-alpine',
  files: {
    'litellm.sh': `#!/bin/sh
only=$(sed -n 's/^# only-key: //p' "$2")
[ -z "$only" ] || [ "$only" = "$(printf %s "$LITELLM_MASTER_KEY" | sha256sum | cut -d' ' -f1)" ] || { echo 'this key is not known here' >&2; exit 1; }
trap 'exit 0' TERM
nc -ll -p 4000 -e /answer.sh &
wait
`,
    'answer.sh': `#!/bin/sh
end=$(printf '\\r')
read -r method path rest
length=0 key=
while read -r line && line=\${line%"$end"} && [ -n "$line" ]; do
  case $line in
    [Aa]uthorization:*) key=\${line#*Bearer } ;;
    [Cc]ontent-[Ll]ength:*) length=\${line#*: } ;;
  esac
done
[ "$length" = 0 ] || head -c "$length" >/dev/null
say() { printf 'HTTP/1.1 %s\\r\\nContent-Type: application/json\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s' "$1" "\${#2}" "$2"; exit; }
if [ "$path" = /health/readiness ]; then
  psql --no-password --no-psqlrc -d "$DATABASE_URL" -c 'select 1' >/dev/null 2>&1 && say '200 OK' '{"status":"healthy","db":"connected","litellm_version":"1.80.0"}'
  say '503 Service Unavailable' '{"status":"unhealthy","db":"disconnected"}'
fi
[ "$key" = "$LITELLM_MASTER_KEY" ] || say '401 Unauthorized' '{"error":{"message":"Authentication Error"}}'
case $path in
  /v1/models) say '200 OK' '{"data":[{"id":"llama3.2"}]}' ;;
  /v1/chat/completions) models=$(wget -T 5 -qO- "$MODEL_RUNTIME_URL/api/tags") && say '200 OK' "{\\"choices\\":[{\\"message\\":$models}]}" ;;
esac
say '500 Internal Server Error' '{}'
`,
  },
  changes: ['ENTRYPOINT ["/litellm.sh"]', 'CMD []'],
};

/**
 * Speaks as the recipe manager does, as far as what it tells everybody: waits for its database, makes its tables and the account that every new one has, keeps pictures
 * beside it, and fails with 500 where the database does not let it in.
 */
export const recipeManager: StandIn = {
  name: 'ghcr.io/mealie-recipes/mealie',
  tag: 'latest',
  from: 'postgres:16-alpine',
  files: {
    'mealie.sh': `#!/bin/sh
[ "$DB_ENGINE" = postgres ] || { echo "no database engine $DB_ENGINE" >&2; exit 1; }
until /ask.sh 'select 1' >/dev/null 2>&1; do sleep 0.2; done
/ask.sh "create table if not exists users (email text)" "create table if not exists recipes (name text)" || exit 1
[ -e /app/data/.secret ] || { /ask.sh "insert into users values ('changeme@example.com')" && echo secret >/app/data/.secret; } || exit 1
trap 'exit 0' TERM
nc -ll -p 9000 -e /answer.sh &
wait
`,
    'ask.sh': `#!/bin/sh
export PGPASSWORD=$POSTGRES_PASSWORD
for statement; do
  psql --no-password --no-psqlrc --quiet -v ON_ERROR_STOP=1 -h "$POSTGRES_SERVER" -U "$POSTGRES_USER" -d "$POSTGRES_DB" -Atc "$statement" 2>/dev/null || exit 1
done
`,
    'answer.sh': `#!/bin/sh
end=$(printf '\\r')
read -r method path rest
while read -r line && line=\${line%"$end"} && [ -n "$line" ]; do :; done
say() { printf 'HTTP/1.1 %s\\r\\nContent-Type: application/json\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s' "$1" "\${#2}" "$2"; exit; }
first=$(/ask.sh "select count(*) > 0 from users where email = 'changeme@example.com'") || say '500 Internal Server Error' '{"detail":"Internal Server Error"}'
[ "$first" = t ] && first=true || first=false
case $path in
  /api/app/about) say '200 OK' "{\\"production\\":true,\\"version\\":\\"v3.5.0\\",\\"demoStatus\\":false,\\"allowSignup\\":$ALLOW_SIGNUP}" ;;
  /api/app/about/startup-info) say '200 OK' "{\\"isFirstLogin\\":$first,\\"isDemo\\":false}" ;;
esac
say '404 Not Found' '{"detail":"Not Found"}'
`,
  },
  changes: ['ENTRYPOINT ["/mealie.sh"]', 'CMD []'],
};

/** The catalog's own files of a component, as a folder of one's own would have them. */
export async function asInTheCatalog(group: string, id: string): Promise<Record<string, string>> {
  const folder = fileURLToPath(new URL(`../../catalog/${group}/`, import.meta.url));
  const files: Record<string, string> = {};
  for await (const entry of glob(`${id}/**`, { cwd: folder, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files[path.slice(folder.length)] = await readFile(path, 'utf8');
  }
  return files;
}
