import { createTransport } from 'nodemailer';
import type { NotificationTarget } from '../config/notification-settings.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { isLoopback } from '../text/loopback.ts';
import type { Sending, SendResult } from './send.ts';

const limitMs = 10_000;
const temporary = ['ECONNECTION', 'ETIMEDOUT', 'ESOCKET', 'EDNS', 'ECONNREFUSED', 'ECONNRESET'];

/** Nothing is sent without TLS, except to this machine. */
export async function sendMail({
  name,
  target,
  message,
  secret,
}: Sending & { target: Extract<NotificationTarget, { type: 'smtp' }> }): Promise<SendResult> {
  const { protocol, hostname, port } = new URL(target.url);
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const near = isLoopback(host);
  const transport = createTransport({
    ...{ host, port: Number(port) || (secure ? 465 : 587), secure, requireTLS: !secure && !near },
    ...(target.user !== undefined && { auth: { user: target.user, pass: secret ?? '' } }),
    // As for components: the certificate of a server on this machine has no authority.
    tls: { rejectUnauthorized: !near },
    ...{ connectionTimeout: limitMs, greetingTimeout: limitMs, socketTimeout: limitMs, dnsTimeout: limitMs },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  try {
    await transport.sendMail({
      ...{ from: target.from, to: [...target.to], subject: message.title, text: `${message.text}\n` },
      ...(message.urgent && { priority: 'high' as const }),
    });
    return { state: 'sent' };
  } catch (thrown) {
    return mailFailure(name, thrown);
  } finally {
    transport.close();
  }
}

function mailFailure(name: string, thrown: unknown): SendResult {
  const { code = '', responseCode, response, message = '' } = thrown as Error & { code?: string; responseCode?: number; response?: string };
  const said = cleanLine(response ?? message)
    .replace(/\.$/, '')
    .slice(0, 200);
  if (code === 'EAUTH') {
    const remedy = `Store valid credentials: quarterdeck notify login ${name}`;
    const fault = new Fault('refused.notificationLogin', `The mail server of ${name} refused the password: ${said}.`, remedy);
    return { state: 'failed', fault, retry: false };
  }
  const retry = responseCode === undefined ? temporary.includes(code) : responseCode >= 400 && responseCode < 500;
  const fault = retry
    ? new Fault('unreachable.notification', `The mail server of ${name} is unavailable: ${said}.`, 'Check the server and the network.')
    : new Fault(
        'failed.notification',
        `The mail server of ${name} rejected the message: ${said}.`,
        'Check url, from and to in config.yaml.',
      );
  return { state: 'failed', fault, retry };
}
