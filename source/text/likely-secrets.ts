import { cleanLine } from './clean.ts';

/** Tokens and keys look like long runs of letters and digits, and quotes contain external text: the rest shows where to look. */
export function withoutLikelySecrets(text: string): string {
  return cleanLine(text)
    .replace(/(["'`])(?:(?!\1).)*\1/g, '$1[hidden]$1')
    .replace(/(\b[\w-]*(?:token|password|passwd|secret|key|authorization|cookie)[\w-]*\b\s*[=:]\s*)\S+(?:\s+\S+)?/gi, '$1[hidden]')
    .replace(/\b(https?|postgres(?:ql)?|mysql|redis|mongodb|amqp):\/\/\S+/gi, '$1://[hidden]')
    .replace(/[A-Za-z0-9+/=_-]{20,}/g, '[hidden]');
}
