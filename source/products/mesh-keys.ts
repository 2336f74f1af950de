/* Keys of a mesh control server (reference/headscale.md): what can be said of one before it is sent anywhere. */

/** What an API key may look like: from 0.28 on, and before. */
const newApiKey = /^hskey-api-([\w-]{12})-[\w-]{64}$/;
const oldApiKey = /^([A-Za-z0-9_-]{4,16})\.[A-Za-z0-9_-]{16,128}$/;
/** By which clients wait to be registered: from 0.29 on, from 0.25 on, and before. */
const registrationKeys = [/^hskey-authreq-[\w-]{24}$/, /^[\w-]{24}$/, /^(?:mkey|nodekey):[0-9a-f]{64}$/];

/** The part of an API key by which its server lists it, which is no secret. Undefined for what is no API key. */
export function apiKeyPrefix(key: string): string | undefined {
  const text = key.trim();
  return (newApiKey.exec(text) ?? oldApiKey.exec(text))?.[1];
}

/** Undefined where it may be an API key. */
export function apiKeyProblem(text: string): string | undefined {
  const key = text.trim();
  if (key === '') return 'Type an API key, or leave with Esc.';
  if (key.startsWith('hskey-auth-')) return 'That is a pre-auth key: nodes join with it. The console needs an API key.';
  if (/\*{3}$/.test(key)) return 'That is what a list shows of a key. The whole key was shown once, when it was made.';
  if (apiKeyPrefix(key) !== undefined) return undefined;
  return key.startsWith('hskey-api-')
    ? 'That key is not whole: it has 12 and 64 characters behind "hskey-api-".'
    : 'That is no API key: it begins with "hskey-api-", or has a dot in it.';
}

/** Is it the key that the server lists under this prefix? */
export function isListedAs(key: string, listed: string): boolean {
  const prefix = apiKeyPrefix(key);
  return prefix !== undefined && prefix === listed.replace(/^hskey-api-/, '').replace(/-?\*{3}$/, '');
}

/** What may be seen of a pre-auth key in a list: servers before 0.28 list it whole. */
export function maskedKey(key: string): string {
  if (/\*{3}$/.test(key)) return key;
  const found = /^(hskey-auth-[\w-]{12})-/.exec(key);
  return found ? `${found[1]}-***` : `${key.slice(0, 6)}***`;
}

/**
 * The key under which a node waits, out of what its client showed: the key alone, the address of the page that it opened, or the whole command that the page names.
 * Undefined where there is none in it.
 */
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

/** Undefined where it holds a key under which a node may wait. */
export function registrationProblem(text: string): string | undefined {
  if (text.trim() === '') return 'Paste what the client shows, or leave with Esc.';
  if (registrationKeyOf(text) !== undefined) return undefined;
  return /hskey-auth-/.test(text)
    ? 'That is a pre-auth key: whoever has it joins without being registered.'
    : 'There is no registration key in that: it is the last part of the address that the client shows.';
}

/** Undefined where it is a tag as policies and keys name it. */
export function tagProblem(tag: string): string | undefined {
  if (!tag.startsWith('tag:')) return `"${tag}" is no tag: it begins with "tag:", as tag:server.`;
  if (tag !== tag.toLowerCase()) return `"${tag}": tags are written in lower case.`;
  if (!/^tag:[a-z][^\s,]*$/.test(tag)) return `"${tag}": behind "tag:" stands a name that begins with a letter.`;
  return undefined;
}

/** `tag:a,tag:b` or with blanks. */
export function tagsOf(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}
