import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { type ComponentSource, readComponentSource } from '../../source/stack/component-source.ts';
import type { Answers } from '../../source/stack/model.ts';
import { answersOf } from '../../source/stack/plan/answers.ts';
import type { FormContext } from '../../source/stack/plan/form.ts';
import type { renderComponent } from '../../source/stack/plan/render.ts';
import { variablesOf } from '../../source/stack/plan/variables.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

/** Every entry that has a compose file. */
export const deployable: readonly string[] = globSync('catalog/*/*/compose.yaml').map((path) => basename(dirname(path)));

/** What nobody but the operator can know. */
const needed: Readonly<Record<string, Record<string, string>>> = {
  'dhcp-server': { DHCP_INTERFACE: 'eth0', DHCP_SUBNET: '192.168.1.0/24', DHCP_POOLS: '192.168.1.100 - 192.168.1.199' },
  'docs-encrypted-office': { CPAD_MAIN_DOMAIN: 'pad.home.lan', CPAD_SANDBOX_DOMAIN: 'sandbox.home.lan' },
  'dynamic-dns': { DDNS_PROVIDER: 'cloudflare', DDNS_DOMAIN: 'home.example.org' },
  'identity-server': { KANIDM_ORIGIN: 'https://idm.home.lan', KANIDM_DOMAIN: 'idm.home.lan' },
  'idp-cloud-native': { ZITADEL_EXTERNALDOMAIN: 'id.home.lan' },
  'idp-enterprise': { KC_HOSTNAME: 'id.home.lan' },
  'internal-ca': { DOCKER_STEPCA_INIT_NAME: 'Home' },
  'mesh-client': { LOGIN_SERVER: 'https://mesh.example.org' },
  'mesh-vpn-platform': {
    NETBIRD_DOMAIN: 'mesh.example.org',
    NETBIRD_AUTH_OIDC_CONFIGURATION_ENDPOINT: 'https://id.example.org/.well-known/openid-configuration',
    NETBIRD_AUTH_AUTHORITY: 'https://id.example.org',
    NETBIRD_AUTH_CLIENT_ID: 'netbird',
  },
  'network-controller': { MYADDR: '192.0.2.10' },
  'oidc-passkey-provider': { PUBLIC_APP_URL: 'https://id.home.lan' },
  'openvpn-server': { OPENVPN_HOST: 'vpn.example.org' },
  'secrets-manager-env': { SITE_URL: 'https://secrets.home.lan' },
  'sso-portal': { SESSION_DOMAIN: 'home.lan', site: 'auth.home.lan' },
  'team-password-manager': { APP_FULL_BASE_URL: 'https://pass.home.lan' },
  'traffic-analysis': { INTERFACE: 'eth0' },
  'tunnel-agent': { PANGOLIN_ENDPOINT: 'https://tunnel.example.org', NEWT_ID: 'a1b2c3d4e5f6g7h' },
  'tunnel-server-self-hosted': { DASHBOARD_URL: 'https://tunnel.example.org', BASE_DOMAIN: 'example.org', ADMIN_EMAIL: 'me@example.org' },
  'tunnel-server-ui': { WG_HOST: 'vpn.home.lan' },
  'vpn-client-gateway': { VPN_SERVICE_PROVIDER: 'custom' },
  'zero-trust-gateway': {
    EXTERNAL_URL: 'https://vpn.example.org:4443',
    SITE_NAME: 'vpn.example.org',
    DEFAULT_ADMIN_EMAIL: 'me@example.org',
  },
};

/** An entry with the answers that it is deployed with. */
export interface Answered {
  entry: CatalogEntry;
  source: ComponentSource;
  answers: Answers;
}

/** The compiled catalog: by id what can be deployed, answered with the defaults and what an operator would say. */
export async function answeredCatalog(): Promise<(id: string, filled?: Record<string, string>) => Answered> {
  const { entries } = await wholeCatalog();
  const root = join(process.cwd(), 'catalog');
  const read = await Promise.all(
    entries.flatMap((entry) =>
      entry.deploy === 'compose' ? [readComponentSource(entry, root).then((source) => [entry.id, { entry, source }] as const)] : [],
    ),
  );
  const byId = new Map(read);
  return (id, filled = {}) => {
    const found = byId.get(id);
    if (!found) throw new Error(`${id} did not compile`);
    const context: FormContext = { source: found.source, others: [], secretsKnown: {}, hasData: false, runtime: 'docker' };
    return { ...found, answers: answersOf(found.entry, context, { ...needed[id], ...filled }) };
  };
}

/** Values for all its secrets, each saying whose it is. */
export function secretsOf({ entry, source }: Pick<Answered, 'entry' | 'source'>): Record<string, string> {
  return Object.fromEntries(
    variablesOf(entry, source).flatMap(({ name, kind }) => (kind === 'secret' ? [[name, `secret-of-${name}`]] : [])),
  );
}

/** Puts what was rendered into a folder. */
export function writeRendered(folder: string, { compose, env, files }: ReturnType<typeof renderComponent>): string {
  for (const [path, text] of Object.entries({ 'compose.yaml': compose, '.env': env, ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
