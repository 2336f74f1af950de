import { execFile } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accessControl, ssoPortalContract } from '../contract/sso-portal.contract.ts';
import { describeContract } from './describe-contract.ts';
import { findServer, freePort, runServer } from './real-server.ts';
import { runOrThrow } from './scripts.ts';

const { program = '', missing } = findServer('authelia');

/** What a container would have in its environment. */
const secrets = {
  AUTHELIA_IDENTITY_VALIDATION_RESET_PASSWORD_JWT_SECRET: 'a secret of the tests, long enough for it',
  AUTHELIA_SESSION_SECRET: 'another secret of the tests, long enough',
  AUTHELIA_STORAGE_ENCRYPTION_KEY: 'a third secret of the tests, long enough',
};

function runToEnd(words: readonly string[], env: NodeJS.ProcessEnv): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(program, words, { env }, (error, stdout, stderr) =>
      resolve({ exitCode: error ? (typeof error.code === 'number' ? error.code : -1) : 0, stdout, stderr }),
    );
  });
}

const version = () => runOrThrow([program, '--version']);

describeContract('authelia', { name: 'Authelia', missing, version }, () => {
  ssoPortalContract(async (users) => {
    const folder = mkdtempSync(join(tmpdir(), 'qd-authelia-'));
    const port = await freePort();
    const config = join(folder, 'configuration.yml');
    const usersFile = join(folder, 'users.yml');
    writeFileSync(usersFile, users);
    writeFileSync(
      config,
      `server: {address: 'tcp://127.0.0.1:${port}/'}
log: {level: info, format: text}
authentication_backend:
  file:
    path: ${usersFile}
    watch: true
session:
  cookies:
    - domain: home.example.org
      authelia_url: https://auth.home.example.org
storage: {local: {path: ${folder}/db.sqlite3}}
notifier: {filesystem: {filename: ${folder}/notification.txt}}
ntp: {disable_startup_check: true}
${accessControl}`,
    );
    const env = { ...process.env, ...secrets, X_AUTHELIA_CONFIG: config, X_AUTHELIA_CONFIG_FILTERS: 'template' };
    const url = `http://127.0.0.1:${port}`;
    const server = await runServer(program, [], { cwd: folder, answers: `${url}/api/health`, env });
    return {
      url,
      run: (words) => runToEnd(words, env),
      validate: (text) => {
        writeFileSync(join(folder, 'check.yml'), text);
        return runToEnd(['config', 'validate', '--config', join(folder, 'check.yml')], env);
      },
      // As a console does: beside it first, then in its place.
      writeUsers: async (text) => {
        writeFileSync(`${usersFile}.new`, text);
        renameSync(`${usersFile}.new`, usersFile);
      },
      log: server.output,
      async close() {
        await server.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });
});
