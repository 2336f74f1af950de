import { join } from 'node:path';
import { installationFolder } from '../config/installation.ts';

/** What decides which engine, files, secrets and programs a run of ours finds. A timer or cron starts programs with next to nothing of it. */
const carried = [
  ...['HOME', 'PATH', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'],
  ...['DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH', 'CONTAINER_HOST'],
  ...['QUARTERDECK_HOME', 'QUARTERDECK_SECRETS', 'QUARTERDECK_SECRETS_KEY_FILE'],
];

/** How this program is started by something else, so that it works on the same things as now. No variable in it holds a secret. */
export function ownProgram(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const settings = carried.flatMap((name) => (env[name] ? [`${name}=${env[name]}`] : []));
  return ['/usr/bin/env', ...settings, join(installationFolder(), 'bin', 'quarterdeck')];
}
