import type { IncomingMessage } from 'node:http';
import type Docker from 'dockerode';
import { parsedJson } from '../text/json-value.ts';

const bodyLimitBytes = 64 * 1024;
const sentenceCharacters = 500;
const senseless = 'it reports no readable reason';

type BuildPayload = (
  error: unknown,
  isStream: boolean,
  statusCodes: Readonly<Record<number, unknown>>,
  openStdin: boolean,
  request: unknown,
  response: IncomingMessage,
  json: unknown,
  callback: (error: unknown, value: unknown) => void,
) => void;

/** The modem joins nested values of an error body, keeps all of it, and throws its errors where they cannot be caught. */
export function guardErrorBodies(docker: Docker): Docker {
  const modem = docker.modem as unknown as { buildPayload: BuildPayload };
  const build = modem.buildPayload;
  modem.buildPayload = function guarded(this: unknown, error, isStream, statusCodes, openStdin, request, response, json, callback) {
    const pass = (streams: boolean, body: unknown) =>
      build.call(this, error, streams, statusCodes, openStdin, request, response, body, callback);
    if (error || statusCodes[response.statusCode ?? 0] === true) pass(isStream, json);
    else if (!isStream) pass(false, plainBody(json));
    else
      void wholeBody(response).then(
        (text) => pass(false, plainBody(parsedJson(text) ?? text)),
        (reason: unknown) => callback(reason, null),
      );
  };
  return docker;
}

function wholeBody(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    // A chunk may end within a character.
    response.setEncoding('utf8');
    response.on('data', (piece: string) => {
      text += piece;
      if (text.length < bodyLimitBytes) return;
      resolve(text.slice(0, bodyLimitBytes));
      response.destroy();
    });
    response.once('end', () => resolve(text));
    response.once('error', reject);
    response.once('close', () => resolve(text));
  });
}

function plainBody(body: unknown): unknown {
  if (typeof body === 'string') return /^\s*[[{]/.test(body) ? senseless : body.slice(0, sentenceCharacters);
  if (typeof body !== 'object' || body === null) return String(body ?? '');
  const { message, error } = body as { message?: unknown; error?: unknown };
  return { message: [message, error].find((said) => typeof said === 'string') ?? senseless };
}
