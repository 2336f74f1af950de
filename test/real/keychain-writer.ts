import { mintGrant } from '../../source/grants/mint.ts';
import { openSecretStorage } from '../../source/secrets/open-secrets.ts';
import type { SecretName } from '../../source/secrets/secrets.ts';

// A process of its own that uses the vault as a console does: `keychain-writer.ts FOLDER write|read|list|migrate ARGUMENT...`, values over stdin. One JSON line.

const [folder = '', action = '', ...words] = process.argv.slice(2);
const signal = new AbortController().signal;
const grant = mintGrant('test', 'operate', signal);

async function stdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function answer(): Promise<unknown> {
  const vault = await openSecretStorage({ env: process.env, paths: { data: folder }, signal });
  const name = (words[0] ?? '') as SecretName;
  switch (action) {
    case 'write':
      return vault.write(grant, name, await stdin(), 'given');
    // `write-many PREFIX COUNT`: what two consoles do at once.
    case 'write-many':
      for (let index = 0; index < Number(words[1]); index++) {
        await vault.write(grant, `nas/${name}-${index}/SECRET`, `value of ${name} ${index}`, 'generated');
        await vault.write(grant, 'nas/shared/SECRET', `${name} ${index}`, 'rotated');
      }
      return words[1];
    case 'read':
      return { value: await vault.read(name, signal), kind: vault.kind };
    case 'list':
      return (await vault.list(signal)).map((entry) => [entry.name, entry.versions.length]);
    case 'remove':
      return vault.remove(grant, name);
    case 'migrate':
      return vault.care?.migrate(grant, words[0] as 'keychain' | 'file');
    default:
      throw new Error(action);
  }
}

try {
  process.stdout.write(`${JSON.stringify({ answer: await answer() })}\n`);
} catch (thrown) {
  process.stdout.write(`${JSON.stringify({ fault: { code: (thrown as { code?: string }).code, message: (thrown as Error).message } })}\n`);
}
// A keychain that is still being waited for would hold the process.
process.exit(0);
