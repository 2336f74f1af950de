import { afterEach, expect, test, vi } from 'vitest';
import { findServer } from '../real/real-server.ts';
import { requiredProgram } from '../required.ts';

afterEach(() => vi.unstubAllEnvs());

test('what CI provides may be missing elsewhere, and not there', () => {
  vi.stubEnv('XDG_CACHE_HOME', '/nonexistent');
  vi.stubEnv('QUARTERDECK_TEST_TRAEFIK', '');
  vi.stubEnv('QUARTERDECK_TEST_KEYCLOAK', '');
  vi.stubEnv('QUARTERDECK_REQUIRE_REAL', '');
  expect(requiredProgram('no-such-program', 'package')).toBe('no no-such-program: apt-get install package');
  expect(findServer('traefik').missing).toMatch(/`test\/real\/servers traefik` builds it/);

  vi.stubEnv('QUARTERDECK_REQUIRE_REAL', '1');
  expect(requiredProgram('sh')).toBeUndefined();
  expect(() => requiredProgram('no-such-program')).toThrow('tests cannot run: no no-such-program');
  expect(() => findServer('traefik')).toThrow('tests cannot run: no traefik');
  // CI builds no such server: where it has a simulator, test/contract/proven.test.ts demands a proof.
  expect(findServer('keycloak').missing).toMatch(/`test\/real\/servers keycloak` builds it/);
  vi.stubEnv('QUARTERDECK_TEST_KEYCLOAK', '/nonexistent/keycloak');
  expect(() => findServer('keycloak')).toThrow('QUARTERDECK_TEST_KEYCLOAK names /nonexistent/keycloak');
});
