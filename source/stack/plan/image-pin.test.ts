import { expect, it } from 'vitest';
import { digestFor, isSameReference, pinOf } from './image-pin.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const image = {
  id: digest('a'),
  digests: [`docker.io/library/postgres@${digest('b')}`, `docker.io/keeper/db@${digest('c')}`, `quay.io/keeper/db@${digest('d')}`],
};

it('an image that is known by several names is pinned by the digest of the one that was asked for', () => {
  expect(pinOf('keeper/db:latest', image)).toEqual({ reference: 'keeper/db:latest', id: image.id, digest: image.digests[1] });
  expect(digestFor('quay.io/keeper/db:16', image.digests)).toBe(image.digests[2]);
  expect(digestFor('postgres:16-alpine', image.digests)).toBe(image.digests[0]);
});

it('where no digest has its name there is none: that of another name may be in no registry', () => {
  expect(pinOf('keeper/other:latest', image)).toEqual({ reference: 'keeper/other:latest', id: image.id });
  expect(pinOf(image.id, image).digest).toBe(image.digests[0]);
});

it.each([
  ['postgres:16', 'docker.io/library/postgres:16', true],
  ['keeper/db', 'docker.io/keeper/db:latest', true],
  ['keeper/db:1', 'keeper/db:2', false],
  ['quay.io/keeper/db', 'keeper/db', false],
  [`keeper/db@${digest('a')}`, `keeper/db@${digest('b')}`, false],
  [digest('a'), digest('b'), false],
])('%s and %s name the same: %s', (one, other, same) => expect(isSameReference(one, other)).toBe(same));
