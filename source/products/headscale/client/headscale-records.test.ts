import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiKeyOf, keyOf, listOf, nodeOf, userOf, waitingRoutes } from './headscale-records.ts';

describe('what a control server tells', () => {
  test('a node of before 0.28 has the tags that were set and those that it asked for; before 0.26 no routes are told', () => {
    const old = nodeOf({
      id: '7',
      name: 'nas.local',
      givenName: 'nas',
      user: { name: 'ann' },
      forcedTags: ['tag:a'],
      validTags: ['tag:b', 'tag:a'],
    });
    expect(old).toMatchObject({ id: '7', name: 'nas', hostname: 'nas.local', owner: 'ann', tags: ['tag:a', 'tag:b'], routes: undefined });
    expect(waitingRoutes(old)).toEqual([]);
  });

  test('a tagged node belongs to nobody, a day of the year one is no day, and a name is all that it may need', () => {
    const node = nodeOf({
      id: 3,
      name: 'nas',
      user: { name: 'tagged-devices' },
      tags: ['tag:a'],
      expiry: '0001-01-01T00:00:00Z',
      availableRoutes: ['10.0.0.0/8', '0.0.0.0/0'],
      approvedRoutes: ['0.0.0.0/0'],
    });
    expect(node).toMatchObject({ id: '3', name: 'nas', owner: '', expiryMs: undefined });
    expect(waitingRoutes(node)).toEqual(['10.0.0.0/8']);
    expect(keyOf({ id: '1', user: 'ann', key: 'a'.repeat(48) })).toMatchObject({ owner: 'ann', masked: 'aaaaaa***' });
  });

  test('what somebody put into a name does nothing to a screen', () => {
    const evil = '\x1b[2J\x1b]0;title\x07nas\u202e';
    const texts = [
      nodeOf({ givenName: evil, tags: [evil], ipAddresses: [evil] }),
      userOf({ name: evil, email: evil }),
      apiKeyOf({ prefix: evil }),
    ];
    expect(JSON.stringify(texts)).not.toMatch(/\\u001b|\u202e|title/);
    expect(nodeOf({ givenName: evil }).name).toBe('nas<U+202E>');
  });

  test('whatever it tells, nothing is thrown', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.dictionary(fc.constantFrom('id', 'name', 'user', 'tags', 'expiry', 'availableRoutes', 'key', 'aclTags'), fc.jsonValue()),
        (any, thing) => {
          listOf(any, 'nodes', nodeOf);
          listOf({ nodes: any }, 'nodes', nodeOf);
          for (const read of [nodeOf, userOf, keyOf, apiKeyOf]) read(thing);
        },
      ),
    );
  });
});
