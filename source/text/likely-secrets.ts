import { cleanLine } from './clean.ts';

/**
 * One line for a report: long runs of letters and digits are how tokens and keys look, and quotes hold what came from outside. What is left of a message still
 * tells where to look.
 */
export function withoutLikelySecrets(text: string): string {
  return cleanLine(text)
    .replace(/(["'`])(?:(?!\1).)*\1/g, '$1[hidden]$1')
    .replace(/(\b[\w-]*(?:token|password|passwd|secret|key|authorization|cookie)[\w-]*\b\s*[=:]\s*)\S+(?:\s+\S+)?/gi, '$1[hidden]')
    .replace(/\b(https?|postgres(?:ql)?|mysql|redis|mongodb|amqp):\/\/\S+/gi, '$1://[hidden]')
    .replace(/[A-Za-z0-9+/=_-]{20,}/g, '[hidden]');
}
