import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Recording } from './recording.ts';
import { renderRecording, renderSvg } from './screenshot.ts';
import { Terminal } from './terminal.ts';

// `npm run picture`: the pictures of the README and of the documents, taken from the practice stack, and a recording of them all.
const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'docs/pictures');
const readMs = 2600;

const home = await mkdtemp(join(tmpdir(), 'quarterdeck-picture-'));

const terminal = Terminal.start([resolve(root, 'bin/quarterdeck'), 'practice'], {
  columns: 100,
  rows: 30,
  env: { QUARTERDECK_HOME: home, QUARTERDECK_KEYCHAIN: 'off', LANG: 'C.UTF-8', COLORTERM: 'truecolor' },
});

/** When every probe has answered: the last ones are the slowest. */
const isProbed = /sealed 0\/3[\s\S]*loading \d+\/30 min/;

async function record(): Promise<void> {
  const recording = new Recording(terminal);
  const keep = async (name: string, title: string): Promise<void> => {
    await recording.settle();
    recording.hold(readMs);
    await writeFile(join(folder, `${name}.svg`), renderSvg(terminal.cells(), { title }));
  };
  const find = async (words: string, row: RegExp): Promise<void> => {
    await recording.press(':');
    await recording.type(words);
    await terminal.sees(row);
    recording.hold(readMs / 3);
    await recording.press('enter');
    await terminal.seesNot('╭ Find');
  };
  const leave = async (): Promise<void> => {
    await recording.press('esc');
    for (let tries = 0; tries < 4 && !terminal.text().includes('? help'); tries++) await recording.press('esc');
    await terminal.sees('? help');
  };

  await terminal.sees(isProbed, 30_000);
  await recording.press(...Array<string>(7).fill('j'));
  await terminal.sees('cannot reach its database');
  await terminal.sees(/cpu\s+[▁▂▃▄▅▆▇█]{3}/, 60_000);
  await keep('states', 'A component whose product reports that it cannot reach its database, among others that are healthy');

  await recording.press('l', 'z', '/');
  await recording.type('error');
  await terminal.sees('ERROR');
  await recording.press('enter');
  await keep('logs', 'The log of one component, filtered');
  await recording.press('esc', 'z', '3', 'z');
  await terminal.sees(/Ports ─+/);
  await keep('ports', 'Every port of the machine with its reach and its owner');
  await recording.press('z', '1');

  await find('deploy recipe', /▸ do +Deploy/);
  await terminal.sees('Database password');
  await keep('form', 'The settings of a component before it is deployed');
  await recording.press('ctrl+s');
  await terminal.sees('Services  +2', 30_000);
  await keep('plan', 'The plan of a deployment: findings, services, ports, secrets and files');
  await leave();

  await find('mesh-control', /▸ .*mesh-control-server/);
  await recording.press('K');
  await terminal.sees('Create an API key', 30_000);
  await recording.press('enter');
  await terminal.sees('Valid for', 30_000);
  await recording.press('right');
  recording.hold(readMs / 2);
  await recording.press('ctrl+s');
  await terminal.sees('tailscale up', 30_000);
  await keep('procedure', 'A pre-auth key for a node of the mesh, with the command that uses it');
  await leave();

  await recording.press('C', 'j', 'j', 'j', 'enter');
  await keep('catalog', 'The catalog: what Quarterdeck knows about a product');
  await leave();
  await writeFile(join(folder, 'tour.svg'), renderRecording(recording.frames, { title: 'A tour of the practice stack in one minute' }));
}

await mkdir(folder, { recursive: true });
try {
  await record();
} finally {
  await terminal.close();
  await rm(home, { recursive: true, force: true });
}
