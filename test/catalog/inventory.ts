import { globSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A component as the specification's inventory has it. What is not read by a test is left out. */
export interface InventoryComponent {
  id: string;
  group: string;
  kind: string;
  deploy: string;
  product: string;
  product_confidence: string;
  image: string;
  services?: { name: string; image: string; role: string; one_shot?: boolean; cap_add?: string[] }[];
  ports?: { host: number; container: number; protocol: string; exposure: string; exposure_basis: string; role: string }[];
  fields?: {
    name: string;
    type: string;
    secret: boolean;
    required: boolean | 'unstated';
    default?: string | number | boolean;
    default_kind?: string;
    generator?: string;
    rule?: string;
    meaning?: string;
    env?: string;
  }[];
  config_file?: { form: string };
  volumes?: { mount: string; mode?: string; meaning?: string }[];
  devices?: string[];
  cap_add?: string[];
  command?: string;
  websocket?: boolean;
  endpoints?: { method: string; path: string; auth: string; line?: number }[];
  auth?: string;
  cli?: string[];
  states?: { from: string; trigger: string; condition?: string; to: string; also?: string; line: number }[];
  limits?: { item: string; value: string; kind: string; line: number }[];
  errors?: { condition: string; outcome: string; line: number }[];
  objects?: { name: string; fields?: (string | { name: string; type: string; required?: boolean; rule?: string })[] }[];
  events?: string[];
  depends_on_components?: string[];
  versioning?: string[];
  line_refs?: number[];
}

export const inventory = parse(readFileSync('test/spec/components.yaml', 'utf8')) as InventoryComponent[];

/** Images and tags of the inventory that nobody publishes (any more), or that do not fit its other pins: what the catalog has instead. The reason stands at the service (tagReason). */
const otherTags: Readonly<Record<string, string>> = {
  'codeberg.org/forgejo/forgejo:latest': 'codeberg.org/forgejo/forgejo:15',
  'ghcr.io/berriai/litellm:main-latest': 'ghcr.io/berriai/litellm:latest',
  'infisical/infisical:latest-postgres': 'infisical/infisical:latest',
  'jonasal/kea-dhcp4:latest': 'jonasal/kea-dhcp4:3',
  'lscr.io/linuxserver/readarr:develop': 'lscr.io/linuxserver/readarr:0.4.18-develop',
  'minio/minio:latest': 'quay.io/minio/minio:RELEASE.2025-09-07T16-13-09Z',
  'powerdnsadmin/pda-legacy:latest': 'powerdnsadmin/pda-legacy:v0.5.1',
  'wazuh/wazuh-certs-generator:latest': 'wazuh/wazuh-certs-generator:0.0.4',
};
/** Removed from Docker Hub by their makers: they publish them in a registry of their own. Of the one that is left out here nothing is published at all. */
const movedImage = /^greenbone\/(?!nasl-data:)/;
/** The image of the inventory, with the name and the tag that the catalog has for it. */
export const withTag = (image: string) => otherTags[image] ?? image.replace(movedImage, 'registry.community.greenbone.net/community/');

/** Where a sentence of the inventory comes from is not shown to operators. */
const citation = / \((?:derived from )?(?:R\d+|lines? \d+(?:(?:,| and) \d+)*)(?:, "most AI components")?\)|,? ?line \d+(?=[;)])/g;

/** Returns a text of the inventory as the catalog has it: in one line, without citations. */
export const withoutCitations = (text: string | undefined) => text?.replaceAll(/\s+/g, ' ').replaceAll(citation, '').replaceAll('(; ', '(');

/** How the catalog words texts of the inventory for operators, by component: `wording/<group>.yaml`. */
export const wordings: Readonly<Record<string, Readonly<Record<string, string>>>> = Object.assign(
  {},
  ...globSync('test/catalog/wording/*.yaml').map((file) => parse(readFileSync(file, 'utf8'))),
);

/** Returns a text of the inventory as the catalog has to state it. */
export function worded({ id }: InventoryComponent, text: string | undefined): string | undefined {
  const plain = withoutCitations(text);
  return plain === undefined ? undefined : (wordings[id]?.[plain] ?? plain);
}
