import { randomBytes } from 'node:crypto';
import type { ComponentCall } from '../catalog/schema.ts';
import { Fault } from '../faults/fault.ts';
import { type HttpRequest, userAgent } from './http-exchange.ts';
import type { Inputs } from './inputs.ts';

type HttpDeclaration = NonNullable<ComponentCall['http']>;

/** Builds the request exactly as component.yaml declares it, filled in (R35). Throws `usage.input` for values that cannot be sent. */
export function buildRequest(http: HttpDeclaration, inputs: Inputs): HttpRequest & { headers: Readonly<Record<string, string>> } {
  const path = inputs.fill(http.path, encodeURIComponent);
  if (path === undefined) throw unsendable('A part of the path is missing.');
  const query = [...inputs.fillRecord(http.query), ...inputs.fillRecord(http.always ?? {})].map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const { body, type } = buildBody(http, inputs);
  const headers: Record<string, string> = {
    accept: '*/*',
    'user-agent': userAgent,
    ...(type && { 'content-type': type }),
  };
  for (const [name, value] of inputs.fillRecord(http.headers)) {
    if (/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      throw unsendable(`The value for the header ${name} holds characters that no header can.`);
    headers[name.toLowerCase()] = value;
  }
  if (http.basic) {
    const login = [inputs.fill(http.basic.user) ?? '', inputs.fill(http.basic.password) ?? ''];
    if (login[0]?.includes(':')) throw unsendable('A user name may not hold a colon.');
    headers['authorization'] = `Basic ${Buffer.from(login.join(':')).toString('base64')}`;
  }
  return {
    method: http.method,
    path: `${path}${query.length > 0 ? `${path.includes('?') ? '&' : '?'}${query.join('&')}` : ''}`,
    headers,
    body,
  };
}

function buildBody(http: HttpDeclaration, inputs: Inputs): { body: Buffer | undefined; type?: string } {
  if (http.json !== undefined) return { body: Buffer.from(JSON.stringify(inputs.fillJson(http.json))), type: 'application/json' };
  if (http.form) {
    return { body: Buffer.from(new URLSearchParams(inputs.fillRecord(http.form)).toString()), type: 'application/x-www-form-urlencoded' };
  }
  if (http.multipart) return buildMultipart(http.multipart, inputs);
  if (http.text !== undefined) return { body: Buffer.from(inputs.fill(http.text) ?? ''), type: 'text/plain; charset=utf-8' };
  return { body: undefined };
}

function buildMultipart(parts: Readonly<Record<string, string>>, inputs: Inputs): { body: Buffer; type: string } {
  const boundary = `quarterdeck-${randomBytes(16).toString('hex')}`;
  const sections = inputs.fillRecord(parts).map(([name, value]) => {
    const file = inputs.isFile(parts[name] ?? '') ? `; filename="${name}"\r\nContent-Type: application/octet-stream` : '';
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  });
  return { body: Buffer.from(`${sections.join('')}--${boundary}--\r\n`), type: `multipart/form-data; boundary=${boundary}` };
}

function unsendable(message: string): Fault {
  return new Fault('usage.input', message, 'Give another value.');
}
