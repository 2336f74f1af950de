import type { CallAnswer } from '../../calls/call.ts';
import { credentialInputs } from '../../catalog/credential-inputs.ts';
import type { ComponentCall } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { valueIn } from './credentials.ts';

/** A call without expected statuses accepts any response, but an operation that was refused did not succeed. */
export function failureOf(call: ComponentCall, answer: CallAnswer, component: string): Fault | undefined {
  const { ok, status, failure, text } = answer;
  const more = messageIn(answer.json) ?? firstLine(text);
  const quoted = more === '' ? '' : `: ${more}`;
  const log = `quarterdeck logs ${component}`;
  if (call.exec && ok)
    return status === 0
      ? undefined
      : new Fault('failed.operation', `${call.exec.argv[0]} ended with exit code ${status}${quoted}.`, `Check its log: ${log}`);
  const refused = refusalOf(call, answer, { component, quoted });
  if (refused) return refused;
  const reported = ok && call.error !== undefined ? valueIn(call.error, answer) : '';
  const failed = (message: string) => new Fault('failed.operation', message, `Check the inputs, and the log: ${log}`);
  if (typeof reported === 'string' && reported !== '')
    return failed(`${component} reported an error: ${cleanLine(reported).replace(/\.$/, '')}.`);
  if (ok && status < 400) return undefined;
  return failed(ok ? `${component} responded with status ${status}${quoted}.` : cleanLine(failure));
}

function refusalOf(
  call: ComponentCall,
  { status, headers }: Pick<CallAnswer, 'status' | 'headers'>,
  { component, quoted }: { component: string; quoted: string },
): Fault | undefined {
  const access = credentialInputs(call).length > 0 ? `Log in again: quarterdeck login ${component}` : 'Check its access settings.';
  if (status === 401 || status === 403)
    return new Fault('refused.login', `${component} denied access (status ${status})${quoted}.`, access);
  if (status === 429 || status === 503) {
    const wait = headers['retry-after'];
    const remedy =
      wait === undefined ? 'Try again later.' : `Try again ${/^\d+$/.test(wait) ? `in ${wait} s` : `after ${cleanLine(wait)}`}.`;
    return new Fault('failed.operation', `${component} is busy (status ${status})${quoted}.`, remedy);
  }
  if (status < 300 || status >= 400) return undefined;
  const message = `${component} redirects to ${cleanLine(headers['location'] ?? 'another address')}, and redirects are not followed.`;
  return new Fault('failed.operation', message, access);
}

/** The message of an error in JSON, as most products write it: `{"message": "..."}`, `{"error": {"message": "..."}}`, `{"detail": "..."}`. */
function messageIn(json: unknown): string | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { message, error, detail, title } = json as Record<string, unknown>;
  for (const one of [message, error, detail, title]) {
    if (typeof one === 'string' && one !== '') return firstLine(one);
    const nested = messageIn(one);
    if (nested !== undefined) return nested;
  }
  return undefined;
}

function firstLine(text: string): string {
  const line = text.split('\n').find((one) => one.trim() !== '') ?? '';
  const shown = cleanLine(line).trim().slice(0, 200);
  return shown.startsWith('<') ? '' : shown.replace(/\.$/, '');
}
