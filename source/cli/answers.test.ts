import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import type { Form, Question } from '../session/session.ts';
import { readAnswers, unusedAnswers, withAnswers } from './answers.ts';

const signal = new AbortController().signal;
const piped = (text: string | Uint8Array) => readAnswers('-', async () => (typeof text === 'string' ? Buffer.from(text) : text), signal);
const nobody = async () => new Uint8Array();

async function filed(text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-answers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'answers.json');
  await writeFile(path, text);
  return readAnswers(path, nobody, signal);
}

const question = (id: string, kind: 'text' | 'secret' = 'text'): Question => ({ id, label: `The ${id}`, kind });

describe('answers that were written down', () => {
  test('are given in turn to a step that is asked again, then a person is asked', async () => {
    const person = new OperatorDouble();
    person.answers = { share: ['from a person'] };
    const answers = await piped('{"share": ["one", "two"], "count": 3}');
    const operator = withAnswers(person, answers);
    const given = [];
    for (let time = 0; time < 3; time++) given.push(await operator.ask(question('share', 'secret'), signal));
    expect(given).toEqual(['one', 'two', 'from a person']);
    expect(await operator.ask(question('count'), signal)).toBe('3');
    expect(unusedAnswers(answers)).toEqual([]);
  });

  test('one of several parts is one answer; a list of lists is one each time', async () => {
    const choices = ['a', 'b', 'c'].map((value) => ({ value, label: value }));
    const several: Question = { id: 'hosts', label: 'Which', kind: 'several', choices };
    expect(await withAnswers(new OperatorDouble(), await piped('{"hosts": ["a", "b"]}')).ask(several, signal)).toEqual(['a', 'b']);
    const each = withAnswers(new OperatorDouble(), await piped('{"hosts": [["a"], ["b", "c"]]}'));
    expect([await each.ask(several, signal), await each.ask(several, signal)]).toEqual([['a'], ['b', 'c']]);
  });

  test('a secret is taken from what was piped in, and refused from a file', async () => {
    const ask = async (answers: Awaited<ReturnType<typeof filed>>) =>
      withAnswers(new OperatorDouble(), answers).ask(question('token', 'secret'), signal);
    expect(await ask(await piped('{"token": "hvs.abc"}'))).toBe('hvs.abc');
    const refused = await ask(await filed('{"token": "hvs.abc"}')).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: 'refused.secretAnswer', remedy: expect.stringContaining('--answers -') });
    expect(JSON.stringify(refused)).not.toContain('hvs.abc');
  });

  test('are refused where they are not UTF-8: a password would be another one', async () => {
    await expect(piped(Buffer.from('{\n"password": "Käse"}', 'latin1'))).rejects.toMatchObject({
      code: 'usage.answers',
      message: 'the input cannot be read: line 2 is not valid UTF-8.',
    });
  });

  test('never answer a question that reveals something: somebody has to see it', async () => {
    const person = new OperatorDouble();
    person.answers = { written: ['seen'] };
    const operator = withAnswers(person, await piped('{"written": "yes"}'));
    expect(await operator.ask({ ...question('written'), reveals: { label: 'Share', value: 'beef' } }, signal)).toBe('seen');
  });

  test('fill a form by its fields, and what nobody asked for is told', async () => {
    const field = (id: string, kind: 'text' | 'secret') => ({ id, label: id, kind, value: 'before', required: true, section: '' });
    const form: Form = { id: 'form', title: 'Form', fields: [field('NAME', 'text'), field('PORT', 'text')] };
    const person = new OperatorDouble();
    const answers = await filed('{"NAME": "nas", "OTHER": "x"}');
    expect(await withAnswers(person, answers).fill(form, signal)).toEqual({ NAME: 'nas', PORT: 'before' });
    expect(unusedAnswers(answers)).toEqual(['OTHER']);
    const withSecret = { ...form, fields: [field('NAME', 'secret')] };
    expect(() => withAnswers(person, { steps: new Map([['NAME', ['x']]]), secret: false }).fill(withSecret, signal)).toThrow(/is a secret/);
  });

  test.each([
    ['no JSON', '{"token": "hvs.sec', /not valid JSON/],
    ['a list', '["hvs.sec"]', /not a JSON object/],
    ['a deep value', '{"a": {"b": "hvs.sec"}}', /"a" must be a string/],
    ['a null', '{"a": null}', /"a" must be a string/],
  ])('%s is refused, and not quoted', async (_, text, why) => {
    const fault = await piped(text).catch((thrown: unknown) => thrown);
    expect(fault).toMatchObject({ code: 'usage.answers', message: expect.stringMatching(why) });
    expect(String((fault as Error).message)).not.toContain('hvs.sec');
  });

  test('a file that is not there is named', async () => {
    await expect(readAnswers('/nonexistent/answers.json', nobody, signal)).rejects.toMatchObject({
      code: 'usage.answers',
      message: expect.stringContaining('/nonexistent/answers.json'),
    });
  });
});
