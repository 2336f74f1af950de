import { generateKeyPairSync } from 'node:crypto';
import type { Answer } from '../../answers.ts';
import type { Pages } from '../component.ts';

const realm = '/realms/master';
const protocol = `${realm}/protocol/openid-connect`;

/** What Keycloak 26 tells clients about its master realm, with a key that is made when somebody first asks for it. */
export function providerPages(): Pages {
  let keys: Answer | undefined;
  return {
    [`${realm}/.well-known/openid-configuration`]: (_, environment) => ({ body: discovery(environment['KC_HOSTNAME'] ?? '') }),
    [`${protocol}/certs`]: () => {
      keys ??= { body: { keys: [signingKey()] } };
      return keys;
    },
  };
}

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
