import { generateKeyPairSync } from 'node:crypto';
import { interpolate } from '../../catalog/interpolation.ts';
import { mapOf, parsedJson } from '../../text/json-value.ts';
import { type Answer, type Asked, htmlPage } from '../answers.ts';
import type { Page, Requirement } from './component-schema.ts';

/** Of a container. */
type Environment = Readonly<Record<string, string>>;

export function answerOf(page: Page, asked: Asked, environment: Environment): Answer {
  const { requires, refused = { status: 401 }, behaviour, title, ...answer } = page;
  if (requires && !isMet(requires, asked, environment)) return refused;
  if (behaviour) return behaviours[behaviour](environment);
  return title === undefined ? answer : { ...answer, ...htmlPage(title) };
}

function isMet({ header, contains, equals = '', property }: Requirement, asked: Asked, environment: Environment): boolean {
  const sent = asked.header(header);
  if (contains !== undefined) return sent.includes(contains);
  const wanted = interpolate(equals, environment);
  if (property === undefined) return sent === wanted;
  const key = mapOf(parsedJson(wanted))[property];
  return key === undefined || sent === key;
}

const realm = '/realms/master';
const protocol = `${realm}/protocol/openid-connect`;
let keys: Answer | undefined;

/** Pages that are computed: what Keycloak 26 sends to clients about its master realm, with a key that is created on the first request. */
const behaviours: Readonly<Record<NonNullable<Page['behaviour']>, (environment: Environment) => Answer>> = {
  'keycloak-discovery': ({ KC_HOSTNAME: hostname = '' }) => ({ body: discovery(hostname) }),
  'keycloak-keys': () => {
    keys ??= { body: { keys: [signingKey()] } };
    return keys;
  },
};

function discovery(hostname: string): object {
  const origin = hostname.startsWith('https://') ? hostname : `https://${hostname}`;
  const at = (path: string) => `${origin}${protocol}${path}`;
  return {
    issuer: `${origin}${realm}`,
    authorization_endpoint: at('/auth'),
    token_endpoint: at('/token'),
    introspection_endpoint: at('/token/introspect'),
    userinfo_endpoint: at('/userinfo'),
    end_session_endpoint: at('/logout'),
    jwks_uri: at('/certs'),
    device_authorization_endpoint: at('/auth/device'),
    revocation_endpoint: at('/revoke'),
    response_types_supported: ['code', 'none', 'id_token', 'token', 'id_token token', 'code id_token', 'code token', 'code id_token token'],
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: ['PS384', 'RS384', 'EdDSA', 'ES384', 'ES256', 'RS256', 'ES512', 'PS256', 'PS512', 'RS512'],
    code_challenge_methods_supported: ['plain', 'S256'],
  };
}

function signingKey(): object {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...publicKey.export({ format: 'jwk' }), kid: 'practice-signing-key', alg: 'RS256', use: 'sig' };
}
