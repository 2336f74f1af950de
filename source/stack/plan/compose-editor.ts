import { type Document, isMap, isScalar, isSeq, visit, type YAMLMap } from 'yaml';
import { interpolate, readInterpolation, variablesIn } from '../../catalog/interpolation.ts';
import { Fault } from '../../faults/fault.ts';
import { keyText } from '../../yaml/aliases.ts';
import { YamlDocument } from '../../yaml/document.ts';
import type { Values } from '../model.ts';
import {
  composeText,
  declareNetwork,
  dropEmpty,
  editableCompose,
  environmentOf,
  isMounted,
  listIn,
  mountSources,
  networkMap,
  topLevel,
} from './compose-document.ts';
import { type NetworkUse, networkOf } from './networks.ts';

/** The folder where podman-compose finds secrets while it runs: in memory, with one file for each service. */
const secretsFolder = '${QUARTERDECK_SECRETS:?kept by Quarterdeck, use quarterdeck compose}';
const secretsFileOf = (service: string): string => `${secretsFolder}/${service}.env`;
const secretsKey = 'x-quarterdeck-secrets';
/** By service: its profiles, or if none of them is active the service itself. */
const profilesKey = 'x-quarterdeck-profiles';

/** Preserves what it does not change: comments, order and spelling stay, and a file that needs no change stays identical. */
export class ComposeEditor {
  readonly #document: Document.Parsed;
  readonly #before: string;

  /** Throws `config.compose` with the line. */
  constructor(
    private readonly original: string,
    private readonly file: string,
  ) {
    this.#document = editableCompose(original, file);
    this.#before = JSON.stringify(this.#document.toJSON());
  }

  text(): string {
    return JSON.stringify(this.#document.toJSON()) === this.#before ? this.original : composeText(this.#document);
  }

  #services(): [name: string, service: YAMLMap][] {
    const services = this.#document.get('services');
    if (!isMap(services)) return [];
    return services.items.flatMap(({ key, value }): [string, YAMLMap][] => (isMap(value) ? [[keyText(key), value]] : []));
  }

  #service(name: string): YAMLMap | undefined {
    return this.#services().find(([candidate]) => candidate === name)?.[1];
  }

  imageOf(service: string): string | undefined {
    const image = this.#service(service)?.get('image');
    return typeof image === 'string' ? image : undefined;
  }

  setImage(service: string, image: string): void {
    this.#service(service)?.set('image', image);
  }

  renameInEnvironment(pattern: RegExp, name: string): void {
    for (const [, service] of this.#services())
      for (const entry of environmentOf(service)) {
        const renamed = entry.value.replaceAll(pattern, name);
        if (renamed !== entry.value) entry.write(renamed);
      }
  }

  /** Returns the services whose environment, with these values, or whose mounted files name the gateway (R13). */
  servicesThatName(gateway: string, values: Values, files: Readonly<Record<string, string>>): string[] {
    const naming = Object.keys(files).filter((path) => files[path]?.includes(gateway));
    return this.#services().flatMap(([name, service]) => {
      const sources = mountSources(listIn(service.get('volumes')));
      const isNamed = environmentOf(service).some(({ value }) => interpolate(value, values).includes(gateway));
      return isNamed || naming.some((path) => isMounted(path, sources)) ? [name] : [];
    });
  }

  addExtraHost(name: string, host: string): void {
    const service = this.#service(name);
    const hosts = service?.get('extra_hosts');
    if (!isSeq(hosts)) service?.set('extra_hosts', this.#document.createNode([host]));
    else if (!listIn(hosts).includes(host)) hosts.add(this.#document.createNode(host));
  }

  /** The network exists before compose runs. The services also stay in the project's own network, where its other services find them. */
  join(network: string, services: NetworkUse['services']): void {
    for (const { service: name, aliases } of services) {
      const service = this.#service(name);
      // A service in the host's or another container's network has no networks of its own.
      if (!service || service.has('network_mode')) continue;
      const wanted = aliases.length > 0 ? { aliases: [...aliases] } : {};
      const present = networkMap(service);
      if (!isMap(service.get('networks'))) service.set('networks', this.#document.createNode(present));
      if (JSON.stringify(network in present ? (present[network] ?? {}) : undefined) !== JSON.stringify(wanted))
        service.setIn(['networks', network], this.#document.createNode(wanted));
      declareNetwork(this.#document, network);
    }
  }

  leaveOthers(used: readonly NetworkUse[], ours: ReadonlySet<string>): void {
    for (const [name, service] of this.#services())
      dropNetworks(service, ours, new Set(used.flatMap((one) => (one.services.some((user) => user.service === name) ? [one.name] : []))));
    const { contents } = this.#document;
    if (isMap(contents)) dropNetworks(contents, ours, new Set(used.map(({ name }) => name)));
  }

  /**
   * podman-compose 1.0 does not support profiles and starts everything; 1.1 and later read them only from their arguments, not from
   * COMPOSE_PROFILES. So inactive services are moved, and the others are written without profiles. Both originals are kept at the end of
   * the file: after a manual edit the next change of the profiles starts from there.
   */
  keepProfiles(active: readonly string[]): void {
    const remembered = this.#recallProfiles();
    const services = this.#document.get('services');
    for (const [name, service] of this.#services()) {
      const names = listIn(service.get('profiles')).map(String);
      if (names.length === 0) continue;
      if (names.some((profile) => active.includes(profile) || active.includes('*'))) {
        service.delete('profiles');
        remembered.set(name, this.#document.createNode(names));
      } else {
        this.#secretsBack(name, service);
        // Variables in a stored service must not be interpolated.
        rewrite(service, (text) => text.replaceAll('$', '$$$$'));
        if (isMap(services)) movePair(services, remembered, name);
      }
    }
    if (remembered.items.length > 0) this.#document.set(profilesKey, remembered);
    else this.#document.delete(profilesKey);
  }

  /** Restores the original services. Returns the emptied map in which they were stored. */
  #recallProfiles(): YAMLMap {
    const kept = this.#document.get(profilesKey);
    const services = this.#document.get('services');
    if (!isMap(kept) || !isMap(services)) return this.#document.createNode({}) as YAMLMap;
    // A comment at the beginning of a map is parsed as a comment of the whole map.
    const first = kept.items[0]?.key;
    if (isScalar(first) && kept.commentBefore) [first.commentBefore, kept.commentBefore] = [kept.commentBefore, undefined];
    for (const { key, value } of [...kept.items]) {
      const name = keyText(key);
      const service = this.#service(name);
      if (isSeq(value) && service && !service.has('profiles')) service.set('profiles', value);
      if (!isMap(value) || service) continue;
      rewrite(value, (text) => text.replaceAll('$$', '$'));
      movePair(kept, services, name);
    }
    kept.items = [];
    return kept;
  }

  /** Undoes `moveSecrets` for one service. */
  #secretsBack(name: string, service: YAMLMap): void {
    const moved = secretFilesOf(this.#document.toString())[name];
    if (moved === undefined) return;
    const environment = service.get('environment');
    for (const [variable, text] of Object.entries(moved))
      if (isSeq(environment)) environment.add(this.#document.createNode(`${variable}=${text}`));
      else service.setIn(['environment', variable], this.#document.createNode(text));
    const others = listIn(service.get('env_file')).filter((file) => file !== secretsFileOf(name));
    if (others.length > 0) service.set('env_file', this.#document.createNode(others));
    else service.delete('env_file');
    this.#document.deleteIn([secretsKey, name]);
    dropEmpty(this.#document, secretsKey);
  }

  /**
   * podman-compose writes interpolated values into the arguments of podman, where every user of the host can read them: entries with a
   * secret are moved to a file that exists only while it runs. The content of that file is at the end of compose.yaml, without the secrets.
   */
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: moving, merging and the final check work on the same entries
  moveSecrets(secrets: ReadonlySet<string>, values: Values): void {
    const holds = (text: string) => variablesIn(text).some(({ name }) => secrets.has(name));
    const moved: Record<string, Record<string, string>> = {};
    for (const [name, service] of this.#services()) {
      for (const entry of environmentOf(service)) {
        if (!holds(entry.value)) continue;
        moved[name] = { ...moved[name], [entry.name]: templateOf(entry.value, secrets, values).replaceAll('$', '$$$$') };
        entry.remove();
      }
      if (moved[name] === undefined) continue;
      const environment = service.get('environment');
      if ((isMap(environment) || isSeq(environment)) && environment.items.length === 0) service.delete('environment');
      const present = service.get('env_file');
      const others = typeof present === 'string' ? [present] : listIn(present);
      const file = secretsFileOf(name);
      if (!others.includes(file)) service.set('env_file', this.#document.createNode([...others, file]));
    }
    if (Object.keys(moved).length > 0) {
      const before = this.#document.get(secretsKey);
      const known = isMap(before) ? (before.toJSON() as typeof moved) : {};
      for (const [name, texts] of Object.entries(known)) if (this.#service(name)) moved[name] = { ...texts, ...moved[name] };
      this.#document.set(secretsKey, this.#document.createNode(moved));
      this.#dropFragments(holds);
    }
    for (const { path, text } of new YamlDocument(this.#document.toString()).scalars()) {
      if (path[0] !== 'services' || !holds(text)) continue;
      const message = `podman-compose would expose a secret of ${String(path[1])} in its arguments, because the secret is in "${path.slice(2).join('.')}".`;
      const remedy = 'Use docker compose with the Podman socket for this component, or read the secret from the environment.';
      throw new Fault('refused.podmanCompose', message, remedy, { where: { file: this.file } });
    }
  }

  /** The anchors at the top of the file have been expanded, and podman-compose would require their secrets, which it does not get. */
  #dropFragments(holds: (text: string) => boolean): void {
    for (const { path, text } of [...new YamlDocument(this.#document.toString()).scalars()]) {
      const [top] = path;
      if (typeof top === 'string' && /^x-(?!quarterdeck-)/.test(top) && holds(text)) this.#document.delete(top);
    }
  }

  /**
   * Rewrites what podman-compose 1.0 reads differently: it does not interpolate `${NAME:-}` (without a default it becomes empty, which is
   * equivalent), reads the networks of a service as a list of names, and does not support aliases. Podman also resolves containers by their
   * own names. Since 1.1 it puts each project into a pod, and Podman does not let members of a pod join the network of an outside
   * container.
   */
  spellForPodmanCompose(id: string): void {
    for (const [, service] of this.#services()) {
      if (String(service.get('network_mode') ?? '').startsWith('container:')) this.#document.setIn(['x-podman', 'in_pod'], false);
      if (isMap(service.get('networks'))) {
        const named = networkMap(service);
        service.set('networks', this.#document.createNode(Object.keys(named)));
        // In shared networks a gateway has the names of the services behind it: their own containers have the same names.
        const own = Object.entries(named).filter(([name]) => !name.startsWith(networkOf('')) || name === networkOf(id));
        const alias = own.flatMap(([, network]) => network?.aliases ?? [])[0];
        if (alias !== undefined && !service.has('container_name')) service.set('container_name', alias);
      }
    }
    this.renameInEnvironment(/\$\{([A-Za-z_]\w*):?-\}/g, '$${$1}');
  }
}

/**
 * Returns the content of each service's file in `$QUARTERDECK_SECRETS` while podman-compose runs: by service and name of the environment
 * variable, a text in which `${VARIABLE}` is the placeholder of a secret. Empty for a compose file that reads its secrets from the
 * environment of compose.
 */
export function secretFilesOf(compose: string): Readonly<Record<string, Readonly<Record<string, string>>>> {
  if (!compose.includes(secretsKey)) return {};
  const files = (topLevel(compose)[secretsKey] ?? {}) as Record<string, Record<string, string>>;
  const unescaped = (entries: Record<string, string>) =>
    Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, String(text).replaceAll('$$', '$')]));
  return Object.fromEntries(Object.entries(files).map(([service, entries]) => [service, unescaped(entries)]));
}

function movePair(from: YAMLMap, to: YAMLMap, name: string): void {
  const pair = from.items.find(({ key }) => keyText(key) === name);
  if (!pair) return;
  from.items = from.items.filter((one) => one !== pair);
  to.items.push(pair);
}

function rewrite(node: YAMLMap, change: (text: string) => string): void {
  visit(node, {
    Scalar(at, scalar) {
      if (at !== 'key' && typeof scalar.value === 'string') scalar.value = change(scalar.value);
    },
  });
}

function templateOf(text: string, secrets: ReadonlySet<string>, values: Values): string {
  return readInterpolation(text)
    .parts.map((part) => {
      if (typeof part === 'string') return part.replaceAll('$', '$$$$');
      if (secrets.has(part.name)) return `\${${part.name}}`;
      const written = `\${${part.name}${part.colon ? ':' : ''}${part.operator}${part.word}}`;
      return interpolate(written, values).replaceAll('$', '$$$$');
    })
    .join('');
}

/** Removes unused networks of ours, and the key if it only repeats the default. An alias in the project's own network is not a default. */
function dropNetworks(node: YAMLMap, ours: ReadonlySet<string>, used: ReadonlySet<string>): void {
  const networks = node.get('networks');
  if (!isMap(networks)) return;
  const gone = Object.keys(networks.toJSON()).filter((network) => ours.has(network) && !used.has(network));
  for (const network of gone) networks.delete(network);
  const { default: own, ...others } = networks.toJSON() as Record<string, unknown>;
  if (gone.length > 0 && Object.keys(others).length === 0 && JSON.stringify(own ?? {}) === '{}') node.delete('networks');
}
