import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { componentOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { splitWords } from './exec.ts';

const exec = flowOf('exec');
const shell = flowOf('shell');

/** A terminal as Node represents it: input with a raw mode, output with a size. */
function terminalDouble() {
  const raw: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode(on: boolean) {
      raw.push(on);
      input.isRaw = on;
      return input;
    },
  });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 30 });
  const written: Buffer[] = [];
  output.on('data', (chunk: Buffer) => written.push(chunk));
  return { input, output, raw, text: () => Buffer.concat(written).toString(), loan: { input: input as never, output: output as never } };
}

let fixture: FlowFixture;
let terminal: ReturnType<typeof terminalDouble>;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  terminal = terminalDouble();
  fixture.operator.terminal = terminal.loan;
});
afterEach(() => fixture.close());
const box = () => componentOf('box', [fixture.engine.add('box')]);
const opened = () => vi.waitFor(() => expect(terminal.raw).toEqual([true]));

describe('shell', () => {
  test('is a terminal both ways, told its size, and told again when it changes', async () => {
    const running = fixture.run(shell, box());
    await opened();
    fixture.engine.terminal.print('/ # ');
    terminal.input.write('ls\r');
    terminal.output.columns = 132;
    terminal.output.emit('resize');
    await vi.waitFor(() => expect(terminal.text()).toContain('/ # '));
    await vi.waitFor(() => expect(Buffer.concat(fixture.engine.terminal.typed).toString()).toBe('ls\r'));
    fixture.engine.terminal.finish(3);
    expect((await running).message).toBe('The shell in box ended with exit code 3.');
    expect(fixture.engine.terminal.sizes).toEqual([
      [100, 30],
      [132, 30],
    ]);
    expect(fixture.engine.requests).toHaveLength(1);
    expect(fixture.engine.requests[0]).toMatch(/^terminal box \/bin\/sh -c /);
  });

  test('afterwards the terminal is as it was, and nothing listens to it any more', async () => {
    const running = fixture.run(shell, box());
    await opened();
    fixture.engine.terminal.print('\x1b[?1049h\x1b[?25l\x1b[?1000;1006h');
    fixture.engine.terminal.print('\x1b[?20');
    fixture.engine.terminal.print('04h');
    fixture.engine.terminal.finish(0);
    await running;
    expect(terminal.raw).toEqual([true, false]);
    expect(terminal.input.listenerCount('data')).toBe(0);
    for (const mode of ['1049l', '25h', '1000l', '1006l', '2004l']) expect(terminal.text()).toContain(`\x1b[?${mode}`);
  });

  test('what the program took back itself is left alone', async () => {
    const running = fixture.run(shell, box());
    await opened();
    fixture.engine.terminal.print('\x1b[?1049hvim\x1b[?1049l');
    fixture.engine.terminal.finish(0);
    await running;
    expect(terminal.text().match(/\x1b\[\?1049l/g)).toHaveLength(1);
  });

  test('Ctrl-] three times leaves', async () => {
    const running = fixture.run(shell, box());
    await opened();
    terminal.input.write('\x1d');
    terminal.input.write('\x1d\x1d');
    expect((await running).message).toContain('Detached from box');
    expect(terminal.raw).toEqual([true, false]);
  });

  test('an interrupt from outside ends it and restores the terminal', async () => {
    const control = new AbortController();
    const running = fixture.run(shell, box(), {}, control.signal);
    await opened();
    control.abort(new Error('SIGTERM'));
    await expect(running).rejects.toMatchObject({ code: 'interrupted.act' });
    await vi.waitFor(() => expect(terminal.raw).toEqual([true, false]));
  });

  test('a connection that breaks is told', async () => {
    const running = fixture.run(shell, box());
    await opened();
    fixture.engine.terminal.stream.destroy(new Error('socket hang up'));
    await expect(running).rejects.toMatchObject({ code: 'unreachable.terminal' });
    expect(terminal.raw).toEqual([true, false]);
  });

  test('an image without a shell says so', async () => {
    const running = fixture.run(shell, box());
    await opened();
    fixture.engine.terminal.finish(127);
    await expect(running).rejects.toMatchObject({ code: 'failed.noShell' });
  });

  test('is refused in read-only mode, and not offered to what does not run', async () => {
    fixture.policy = { ...fixture.policy, readOnly: true };
    await expect(fixture.run(shell, box())).rejects.toMatchObject({ code: 'refused.readOnly' });
    expect(fixture.engine.requests).toEqual([]);
    expect(shell.offered?.(componentOf('box', [fixture.engine.add('box')], 'stopped'))).toBe(false);
  });

  test('a container that is not running is told before anything is sent', async () => {
    const component = box();
    fixture.engine.change('box', { state: 'exited' });
    await expect(fixture.run(shell, component)).rejects.toMatchObject({ code: 'failed.notRunning' });
    expect(fixture.engine.requests).toEqual([]);
  });

  test('without a terminal it is refused', async () => {
    fixture.operator.terminal = undefined;
    await expect(fixture.run(shell, box())).rejects.toMatchObject({ code: 'refused.noTerminal' });
  });
});

describe('exec', () => {
  test("passes the program's output on and ends with its exit code", async () => {
    fixture.engine.execResult = { exitCode: 4, stdout: new Uint8Array([0, 255, 10]), stderr: Buffer.from('no\n'), cut: false };
    const outcome = await fixture.run(exec, box(), { words: ['pg_dump', '--all'] });
    expect(fixture.engine.requests).toEqual(['exec box pg_dump --all']);
    expect(outcome.exitCode).toBe(4);
    expect(fixture.operator.shown).toEqual([
      { kind: 'output', stream: 'stdout', bytes: new Uint8Array([0, 255, 10]) },
      { kind: 'output', stream: 'stderr', bytes: Buffer.from('no\n') },
    ]);
  });

  test('on a production host nothing runs before its name was typed, and shell asks the same', async () => {
    fixture.policy = { ...fixture.policy, productionHosts: new Set(['local']) };
    fixture.operator.confirms = false;
    await expect(fixture.run(exec, box(), { words: ['rm', '-r', '/data'] })).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    await expect(fixture.run(shell, box())).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(fixture.operator.confirmations.map(({ typed }) => typed)).toEqual(['local', 'local']);
    expect(fixture.engine.requests).toEqual([]);
  });

  test('gives it what is piped in', async () => {
    await fixture.run(exec, box(), { words: ['cat'], stdin: Buffer.from('12345') });
    expect(fixture.engine.requests).toEqual(['exec box cat < 5 bytes']);
  });

  test('output that was cut is a failure, not a short dump', async () => {
    fixture.engine.execResult = { exitCode: 0, stdout: new Uint8Array(10), stderr: new Uint8Array(), cut: true };
    await expect(fixture.run(exec, box(), { words: ['pg_dump'] })).rejects.toMatchObject({ code: 'failed.outputCut' });
  });

  test('a command that was typed is split at spaces, quotes hold together, nothing is expanded', async () => {
    fixture.operator.answers = { command: [`psql -c 'select 1; $HOME' "" `] };
    await fixture.run(exec, box());
    expect(fixture.engine.requests).toEqual(['exec box psql -c select 1; $HOME ']);
    expect(splitWords(`a 'b c' d"e f"`)).toEqual(['a', 'b c', 'de f']);
    expect(() => splitWords(`a 'b`)).toThrow('Unclosed quote');
  });

  test('arguments, where people put passwords, are in no file of ours', async () => {
    fixture.operator.answers = { command: ['mysql -pgeheim1'] };
    await fixture.run(exec, box());
    await fixture.run(exec, box(), { words: ['mysql', '-pgeheim1'] });
    expect((await fixture.audited()).map(({ request }) => request)).toEqual(Array(4).fill('exec in box: mysql, with 1 argument'));
    const files = await readdir(fixture.folder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile()))
      expect(await readFile(join(file.parentPath, file.name), 'utf8')).not.toContain('geheim1');
  });

  test('a dry run shows the whole command', async () => {
    fixture.policy = { ...fixture.policy, dryRun: true };
    await fixture.run(exec, box(), { words: ['sh', '-c', "echo 'a b'"] });
    expect(fixture.operator.texts()).toEqual([`In box: sh -c 'echo '\\''a b'\\'''`, 'Would do: exec in box: sh, with 2 arguments']);
    expect(fixture.engine.requests).toEqual([]);
  });

  test('asks which service when none of several is the main one', async () => {
    const component = componentOf('two', [fixture.engine.add('one'), fixture.engine.add('other')]);
    const services = component.services.map((service) => ({ ...service, main: false }));
    fixture.operator.answers = { service: ['other'] };
    await fixture.run(exec, { ...component, services }, { words: ['id'] });
    expect(fixture.engine.requests).toEqual(['exec other id']);
  });
});
