import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { parseImage } from './images.ts';

const digest = `sha256:${'ab'.repeat(32)}`;

describe('parseImage', () => {
  it.each([
    ['caddy', 'docker.io/library/caddy', 'latest'],
    ['caddy:2.8-alpine', 'docker.io/library/caddy', '2.8-alpine'],
    ['library/caddy', 'docker.io/library/caddy', 'latest'],
    ['docker.io/caddy', 'docker.io/library/caddy', 'latest'],
    ['docker.io/library/postgres:16', 'docker.io/library/postgres', '16'],
    ['index.docker.io/library/postgres:16', 'docker.io/library/postgres', '16'],
    ['vaultwarden/server:latest', 'docker.io/vaultwarden/server', 'latest'],
    ['ghcr.io/berriai/litellm:main-latest', 'ghcr.io/berriai/litellm', 'main-latest'],
    ['registry.lan:5000/team/app', 'registry.lan:5000/team/app', 'latest'],
    ['registry.lan:5000/app:1.2', 'registry.lan:5000/app', '1.2'],
    ['localhost/caddy:latest', 'docker.io/library/caddy', 'latest'],
    ['localhost/crowdsecurity/crowdsec:latest', 'docker.io/crowdsecurity/crowdsec', 'latest'],
    ['localhost:5000/app', 'localhost:5000/app', 'latest'],
    ['[::1]:5000/app:x', '[::1]:5000/app', 'x'],
  ])('%s', (written, repository, tag) => {
    expect(parseImage(written)).toEqual({ repository, tag, digest: undefined });
  });

  it('reads digests, alone and with a tag', () => {
    expect(parseImage(`caddy@${digest}`)).toEqual({ repository: 'docker.io/library/caddy', tag: undefined, digest });
    expect(parseImage(`caddy:2@${digest}`)).toEqual({ repository: 'docker.io/library/caddy', tag: '2', digest });
  });

  it.each([
    '',
    'a'.repeat(64),
    digest,
    'deadbeef0123',
    '<none>',
    '<none>:<none>',
    'Caddy',
    'caddy:',
    'a//b',
    'x y',
    '-a',
    'caddy@sha256:zz',
    '../etc',
    'caddy:\u001b[2J',
  ])('is undefined for an id or rubbish: %j', (written) => {
    expect(parseImage(written)).toBeUndefined();
  });

  it('never throws, and a repository that was read is read the same again', { timeout: 60_000 }, () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,8}(?:[._-][a-z0-9]{1,4})?$/);
    const reference = fc
      .record({
        registry: fc.constantFrom('', 'quay.io/', 'registry.lan:5000/', 'docker.io/', 'localhost/'),
        path: fc.array(part, { minLength: 1, maxLength: 3 }),
        tag: fc.option(fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,8}$/), { nil: undefined }),
        digest: fc.option(fc.constant(digest), { nil: undefined }),
      })
      .map(({ registry, path, tag, digest: pinned }) => `${registry}${path.join('/')}${tag ? `:${tag}` : ''}${pinned ? `@${pinned}` : ''}`);
    fc.assert(
      fc.property(fc.oneof(reference, fc.string(), fc.string({ unit: anyCharacter })), (written) => {
        const parsed = parseImage(written);
        if (parsed === undefined) return;
        expect(parsed.repository.split('/').length).toBeGreaterThan(1);
        expect(parseImage(`${parsed.repository}:x`)?.repository).toBe(parsed.repository);
      }),
      { numRuns: 1000 },
    );
  });
});
