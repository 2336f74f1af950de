import { expect, test } from 'vitest';
import { imageNameParts, wholeImageName } from './image-name.ts';

const digest = `sha256:${'0'.repeat(64)}`;

test.each([
  ['caddy', 'caddy', 'latest', 'caddy:latest'],
  ['postgres:16-alpine', 'postgres', '16-alpine', 'postgres:16-alpine'],
  ['registry.lan:5000/team/app', 'registry.lan:5000/team/app', 'latest', 'registry.lan:5000/team/app:latest'],
  ['registry.lan:5000/app:2', 'registry.lan:5000/app', '2', 'registry.lan:5000/app:2'],
  [`caddy@${digest}`, 'caddy', digest, `caddy@${digest}`],
  [`registry.lan:5000/caddy:2@${digest}`, 'registry.lan:5000/caddy', digest, `registry.lan:5000/caddy@${digest}`],
  ['caddy:', 'caddy', 'latest', 'caddy:latest'],
])('%s is chosen by one thing', (reference, name, choice, whole) => {
  expect(imageNameParts(reference)).toEqual({ name, choice });
  expect(wholeImageName(reference)).toBe(whole);
});
