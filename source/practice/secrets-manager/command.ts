import type { Answer } from './answers.ts';
import { commandOf } from './dialect.ts';
import type { Server } from './server.ts';

interface Outcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

const needsTerminal = `Unseal Key (will be hidden): 
An error occurred attempting to ask for an unseal key. The raw error message
is shown below, but usually this is because you attempted to pipe a value
into the unseal command or you are executing outside of a terminal (tty). You
should run the unseal command from a terminal for maximum security. If this
is not an option, the unseal key can be provided as the first argument to the
unseal command. The raw error was:  file descriptor 0 is not a terminal
`;

/** The server's own client, as far as a console calls it: `status`, `operator init|unseal|seal`, `version`. */
export async function runCommand(server: Server, argv: readonly string[]): Promise<Outcome> {
  const flags = new Map<string, string>();
  const words: string[] = [];
  for (const word of argv.slice(1)) {
    const flag = /^--?([a-z-]+)(?:=(.*))?$/s.exec(word);
    if (flag) flags.set(flag[1] ?? '', flag[2] ?? 'true');
    else words.push(word);
  }
  const json = flags.get('format') === 'json';
  const { dialect } = server.core;
  switch (words.slice(0, 2).join(' ')) {
    case 'version':
      return said(`${dialect.product === 'openbao' ? 'OpenBao' : 'Vault'} v${dialect.version}\n`);
    case 'status':
      return said(statusText(server, json), server.core.sealed ? 2 : 0);
    case 'operator seal':
      server.core.seal();
      return said('Success! Vault is sealed.\n');
    case 'operator unseal': {
      const key = words[2];
      if (key === undefined && !flags.has('reset')) return { exitCode: 1, stdout: '', stderr: needsTerminal };
      const body = flags.has('reset') ? { reset: true } : { key, migrate: flags.has('migrate') };
      const answer = await ask(server, '/v1/sys/unseal', body);
      return answer.status === 200 ? said(statusText(server, json)) : failed('unsealing', '/v1/sys/unseal', answer);
    }
    case 'operator init': {
      const { initialised } = server.core.barrier;
      if (flags.has('status')) return said(`Vault is ${initialised ? '' : 'not '}initialized\n`, initialised ? 0 : 2);
      const shares = Number(flags.get('key-shares') ?? flags.get('n') ?? 5);
      const threshold = Number(flags.get('key-threshold') ?? flags.get('t') ?? 3);
      const answer = await ask(server, '/v1/sys/init', { secret_shares: shares, secret_threshold: threshold });
      if (answer.status !== 200) return failed('initializing', '/v1/sys/init', answer);
      return said(initText(answer.body as InitBody, { shares, threshold, json }));
    }
    default:
      return { exitCode: 127, stdout: '', stderr: `Usage: ${commandOf(dialect)} <command> [args]\n` };
  }
}

interface InitBody {
  keys: string[];
  keys_base64: string[];
  root_token: string;
}

function said(stdout: string, exitCode = 0): Outcome {
  return { exitCode, stdout, stderr: '' };
}

function ask(server: Server, url: string, body: unknown): Promise<Answer> {
  return server.answer({ method: 'PUT', url, token: '', namespace: '', body: Buffer.from(JSON.stringify(body)) });
}

function failed(doing: string, path: string, answer: Answer): Outcome {
  const { errors } = answer.body as { errors: string[] };
  const list = errors.map((error) => `* ${error}`).join('\n');
  const text = `Error ${doing}: Error making API request.\n\nURL: PUT http://openbao:8200${path}\nCode: ${answer.status}. Errors:\n\n${list}\n`;
  return { exitCode: 2, stdout: '', stderr: text };
}

function initText(body: InitBody, { shares, threshold, json }: { shares: number; threshold: number; json: boolean }): string {
  if (json) {
    const renamed = {
      unseal_keys_b64: body.keys_base64,
      unseal_keys_hex: body.keys,
      unseal_shares: shares,
      unseal_threshold: threshold,
      recovery_keys_b64: [],
      recovery_keys_hex: [],
      recovery_keys_shares: 0,
      recovery_keys_threshold: 0,
      root_token: body.root_token,
    };
    return `${JSON.stringify(renamed, undefined, 2)}\n`;
  }
  const keys = body.keys_base64.map((key, index) => `Unseal Key ${index + 1}: ${key}`);
  return `${keys.join('\n')}\n\nInitial Root Token: ${body.root_token}\n\nVault initialized with ${shares} key shares and a key threshold of ${threshold}.\n`;
}

/** The table pads to its longest name and three blanks; `Unseal Nonce` says n/a while nobody has begun. */
function statusText(server: Server, json: boolean): string {
  const status = server.core.status();
  const { sealed } = server.core;
  if (json) {
    const { type, initialized, t, n, progress, nonce, version, migration, recovery_seal, storage_type, ...rest } = status;
    const dates = { commit_date: rest['commit_date'] ?? '', build_date: rest['build_date'] ?? '' };
    const cluster = sealed ? {} : { cluster_name: rest['cluster_name'], cluster_id: rest['cluster_id'] };
    const shown = {
      type,
      initialized,
      sealed,
      t,
      n,
      progress,
      nonce,
      version,
      ...dates,
      migration,
      ...cluster,
      recovery_seal,
      storage_type,
    };
    return `${JSON.stringify({ ...shown, ha_enabled: true, ...(sealed ? {} : server.leader()) }, undefined, 2)}\n`;
  }
  const leader = sealed ? undefined : server.leader();
  const rows: [string, unknown][] = [
    ['Key', 'Value'],
    ['---', '-----'],
    ['Seal Type', status['type']],
    ['Initialized', status['initialized']],
    ['Sealed', sealed],
    ['Total Shares', status['n']],
    ['Threshold', status['t']],
    ...((sealed
      ? [
          ['Unseal Progress', `${status['progress']}/${status['t']}`],
          ['Unseal Nonce', status['nonce'] || 'n/a'],
        ]
      : []) as [string, unknown][]),
    ['Version', status['version']],
    ['Storage Type', status['storage_type']],
    ...((sealed
      ? [['HA Enabled', true]]
      : [
          ['Cluster Name', status['cluster_name']],
          ['Cluster ID', status['cluster_id']],
          ['HA Enabled', true],
          ['HA Cluster', leader?.['leader_cluster_address']],
          ['HA Mode', 'active'],
          ['Active Since', leader?.['active_time']],
          ['Raft Committed Index', leader?.['raft_committed_index']],
          ['Raft Applied Index', leader?.['raft_applied_index']],
        ]) as [string, unknown][]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 4;
  return `${rows.map(([name, value]) => `${name.padEnd(width)}${value}`).join('\n')}\n`;
}
