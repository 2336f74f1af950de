import { wordsOf } from '../../../text/words.ts';

/** Form of an API key from 0.28 on, and before. */
const newApiKey = /^hskey-api-([\w-]{12})-[\w-]{64}$/;
const oldApiKey = /^([A-Za-z0-9_-]{4,16})\.[A-Za-z0-9_-]{16,128}$/;
/** Form of the keys under which clients wait to be registered: from 0.29 on, from 0.25 on, and before. */
const registrationKeys = [/^hskey-authreq-[\w-]{24}$/, /^[\w-]{24}$/, /^(?:mkey|nodekey):[0-9a-f]{64}$/];

/** Returns the prefix under which the server lists an API key, which is not secret. Returns undefined if the text is not an API key. */
export function apiKeyPrefix(key: string): string | undefined {
  const text = key.trim();
  return (newApiKey.exec(text) ?? oldApiKey.exec(text))?.[1];
}

export function apiKeyProblem(text: string): string | undefined {
  const key = text.trim();
  if (key === '') return 'Type an API key, or cancel.';
  if (key.startsWith('hskey-auth-')) return 'This is a pre-auth key, which only nodes use. The console requires an API key.';
  if (/\*{3}$/.test(key)) return 'This is a key prefix. The full key was shown once, when it was created.';
  if (apiKeyPrefix(key) !== undefined) return undefined;
  return key.startsWith('hskey-api-')
    ? 'The key is incomplete: "hskey-api-" must be followed by 12 characters, a hyphen and 64 characters.'
    : 'API keys start with "hskey-api-", or have the form PREFIX.SECRET.';
}

export function isListedAs(key: string, listed: string): boolean {
  const prefix = apiKeyPrefix(key);
  return prefix !== undefined && prefix === listed.replace(/^hskey-api-/, '').replace(/-?\*{3}$/, '');
}

/** Masks a pre-auth key for lists: servers before 0.28 list the whole key. */
export function maskedKey(key: string): string {
  if (/\*{3}$/.test(key)) return key;
  const found = /^(hskey-auth-[\w-]{12})-/.exec(key);
  return found ? `${found[1]}-***` : `${key.slice(0, 6)}***`;
}

/** Finds the key under which a node waits in the output of its client, in the address of the page that it opens, or in the command there. */
export function registrationKeyOf(text: string): string | undefined {
  const words = text
    .trim()
    .split(/[\s'"`<>]+/)
    .flatMap((word) => word.split('='))
    .flatMap((word) => [word, /\/(?:register|auth)\/([^/?#]+)/.exec(word)?.[1] ?? '']);
  for (const pattern of registrationKeys) {
    const found = words.find((word) => pattern.test(word));
    if (found !== undefined) return found;
  }
  return undefined;
}

export function registrationProblem(text: string): string | undefined {
  if (text.trim() === '') return 'Paste the registration key that the client shows, or cancel.';
  if (registrationKeyOf(text) !== undefined) return undefined;
  return /hskey-auth-/.test(text)
    ? 'This is a pre-auth key; nodes that use it join without registration.'
    : 'No registration key found. The key is the last part of the address that the client shows.';
}

export function tagProblem(tag: string): string | undefined {
  if (!tag.startsWith('tag:')) return `Tags must start with "tag:", such as tag:server, not "${tag}".`;
  if (tag !== tag.toLowerCase()) return `Tags must be lower case, not "${tag}".`;
  if (!/^tag:[a-z][^\s,]*$/.test(tag)) return `Tags must have a letter after "tag:", not "${tag}".`;
  return undefined;
}

export const tagsOf = (text: string): readonly string[] => [...new Set(wordsOf(text))];
