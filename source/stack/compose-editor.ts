import { type Document, isMap, isScalar, isSeq, visit, type YAMLMap } from 'yaml';
import { interpolate, readInterpolation, variablesIn } from '../catalog/interpolation.ts';
import { YamlDocument } from '../config/yaml-document.ts';
import { Fault } from '../faults/fault.ts';
import { composeDocument, editableCompose } from './compose-document.ts';
import { environmentOf, mountsOf } from './compose-service.ts';
import { type NetworkUse, networkOf } from './networks.ts';

/** Where podman-compose finds secrets while it runs: a folder in memory, one file for each service. */
const secretsFolder = '${QUARTERDECK_SECRETS:?kept by Quarterdeck, use quarterdeck compose}';
const secretsFileOf = (service: string): string => `${secretsFolder}/${service}.env`;
const secretsKey = 'x-quarterdeck-secrets';
/** By service: its profiles, or where none of them is asked for the service itself. */
const profilesKey = 'x-quarterdeck-profiles';

/** Changes a compose file and nothing else in it: comments, order and spelling stay, and a file that needs no change stays to the letter. */
export class ComposeEditor {
  readonly #original: string;
  readonly #document: Document.Parsed;
  readonly #file: string;
  #changed = false;

  /** Throws `config.compose` with the line. */
  constructor(text: string, file: string) {
    this.#original = text;
    this.#file = file;
    this.#document = editableCompose(text, file);
  }

  text(): string {
    return this.#changed ? this.#document.toString({ lineWidth: 0, flowCollectionPadding: false }) : this.#original;
  }

  #services(): [name: string, service: YAMLMap][] {
    const services = this.#document.get('services');
    if (!isMap(services)) return [];
    return services.items.flatMap(({ key, value }): [string, YAMLMap][] =>
      isMap(value) ? [[String(isScalar(key) ? key.value : key), value]] : [],
    );
  }

  #service(name: string): YAMLMap | undefined {
    return this.#services().find(([candidate]) => candidate === name)?.[1];
  }

  imageOf(service: string): string | undefined {
    const image = this.#service(service)?.get('image');
    return typeof image === 'string' ? image : undefined;
  }

  setImage(service: string, image: string): void {
    const found = this.#service(service);
    if (!found || found.get('image') === image) return;
    found.set('image', image);
    this.#changed = true;
  }

  /** In every text of the file. */
  renameGateway(pattern: RegExp, name: string): void {
    for (const [, service] of this.#services()) {
      for (const entry of environmentOf(service)) {
        const renamed = entry.value.replaceAll(pattern, name);
        if (renamed === entry.value) continue;
        entry.write(renamed);
        this.#changed = true;
      }
    }
  }

  /** Services whose environment, with these values, or whose mounted files name the gateway (R13). */
  servicesThatSay(gateway: string, values: Readonly<Record<string, string>>, files: Readonly<Record<string, string>>): string[] {
    return this.#services().flatMap(([name, service]) => {
      const inEnvironment = environmentOf(service).some(({ value }) => interpolate(value, values).includes(gateway));
      const mounted = mountsOf(service).map((source) => source.replace(/^\.\//, '').replace(/\/$/, ''));
      const inFiles = Object.entries(files).some(
        ([path, text]) => text.includes(gateway) && mounted.some((source) => path === source || path.startsWith(`${source}/`)),
      );
      return inEnvironment || inFiles ? [name] : [];
    });
  }

  addExtraHost(service: string, host: string): void {
    const found = this.#service(service);
    if (!found) return;
    const hosts = found.get('extra_hosts');
    if (isSeq(hosts)) {
      if (hosts.toJSON().includes(host)) return;
      hosts.add(this.#document.createNode(host));
    } else {
      found.set('extra_hosts', this.#document.createNode([host]));
    }
    this.#changed = true;
  }

  /** Adds services to a network that is there before compose runs. They keep the project's own, by which their siblings find them. */
  join(network: string, services: NetworkUse['services']): void {
    let joined = false;
    for (const { service: name, aliases } of services) {
      const service = this.#service(name);
      // One on the host's network, or in another's, has no networks of its own.
      if (!service || service.has('network_mode')) continue;
      const networks = this.#networksOf(service);
      joined = true;
      const wanted = aliases.length > 0 ? { aliases: [...aliases] } : {};
      if (networks.has(network) && JSON.stringify(networks.toJSON()[network] ?? {}) === JSON.stringify(wanted)) continue;
      networks.set(network, this.#document.createNode(wanted));
      this.#changed = true;
    }
    if (!joined) return;
    // podman-compose puts services into the only network there is, and knows no default beside others that are named.
    if (!this.#document.hasIn(['networks', 'default'])) {
      this.#document.setIn(['networks', 'default'], this.#document.createNode({}));
      this.#changed = true;
    }
    const declared = this.#document.getIn(['networks', network]);
    if (isMap(declared) && declared.get('external') === true) return;
    this.#document.setIn(['networks', network], this.#document.createNode({ external: true }));
    this.#changed = true;
  }

  /** Takes services out of networks of ours that they no longer use. */
  leaveOthers(used: readonly NetworkUse[], ours: ReadonlySet<string>): void {
    const inUse = (network: string, service?: string) =>
      used.some(({ name, services }) => name === network && (service === undefined || services.some((one) => one.service === service)));
    for (const [name, service] of this.#services()) {
      const networks = service.get('networks');
      if (!isMap(networks)) continue;
      for (const network of Object.keys(networks.toJSON())) {
        if (!ours.has(network) || inUse(network, name)) continue;
        networks.delete(network);
        this.#changed = true;
      }
      if (onlyDefault(networks)) service.delete('networks');
    }
    const declared = this.#document.get('networks');
    if (!isMap(declared)) return;
    for (const network of Object.keys(declared.toJSON())) {
      if (!ours.has(network) || inUse(network)) continue;
      declared.delete(network);
      this.#changed = true;
    }
    if (onlyDefault(declared)) this.#document.delete('networks');
  }

  #networksOf(service: YAMLMap): YAMLMap {
    const networks = service.get('networks');
    if (isMap(networks)) return networks;
    const names = isSeq(networks) ? (networks.toJSON() as string[]) : ['default'];
    const made = this.#document.createNode(Object.fromEntries(names.map((name) => [name, {}]))) as YAMLMap;
    service.set('networks', made);
    this.#changed = true;
    return made;
  }

  /**
   * podman-compose 1.0 knows no profiles and starts everything, 1.1 and later know them from their arguments alone, not from COMPOSE_PROFILES: what is not
   * asked for is left out, and what is asked for is in none. Both stand at the end of the file: one that an operator changed by hand is what the next change of the
   * profiles begins with.
   */
  keepProfiles(active: readonly string[]): void {
    const before = JSON.stringify(this.#document.toJSON());
    const remembered = this.#recallProfiles();
    const services = this.#document.get('services');
    for (const [name, service] of this.#services()) {
      const profiles = service.get('profiles');
      const names = isSeq(profiles) ? (profiles.toJSON() as unknown[]).map(String) : [];
      if (names.length === 0) continue;
      if (names.some((profile) => active.includes(profile) || active.includes('*'))) {
        service.delete('profiles');
        remembered.set(name, this.#document.createNode(names));
      } else {
        this.#secretsBack(name, service);
        // What only rests here is not to be filled in.
        rewrite(service, (text) => text.replaceAll('$', '$$$$'));
        if (isMap(services)) movePair(services, remembered, name);
      }
    }
    if (remembered.items.length > 0) this.#document.set(profilesKey, remembered);
    else this.#document.delete(profilesKey);
    if (JSON.stringify(this.#document.toJSON()) !== before) this.#changed = true;
  }

  /** Services as they are without us. Answers the map in which they were kept, empty. */
  #recallProfiles(): YAMLMap {
    const kept = this.#document.get(profilesKey);
    const services = this.#document.get('services');
    if (!isMap(kept) || !isMap(services)) return this.#document.createNode({}) as YAMLMap;
    // A comment at the beginning of a map is read as one of the whole.
    const first = kept.items[0]?.key;
    if (isScalar(first) && kept.commentBefore) [first.commentBefore, kept.commentBefore] = [kept.commentBefore, undefined];
    for (const { key, value } of [...kept.items]) {
      const name = String(isScalar(key) ? key.value : key);
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
    if (isSeq(environment))
      for (const [variable, text] of Object.entries(moved)) environment.add(this.#document.createNode(`${variable}=${text}`));
    else for (const [variable, text] of Object.entries(moved)) service.setIn(['environment', variable], this.#document.createNode(text));
    const files = service.get('env_file');
    const others = isSeq(files) ? (files.toJSON() as string[]).filter((file) => file !== secretsFileOf(name)) : [];
    if (others.length > 0) service.set('env_file', this.#document.createNode(others));
    else service.delete('env_file');
    this.#document.deleteIn([secretsKey, name]);
    const left = this.#document.get(secretsKey);
    if (isMap(left) && left.items.length === 0) this.#document.delete(secretsKey);
  }

  /**
   * podman-compose writes what it interpolates into the arguments of podman, where everybody on the host can read it: entries with a secret go to a file
   * that exists only while it runs. What belongs into that file stands at the end of compose.yaml, without the secrets.
   */
  moveSecrets(secrets: ReadonlySet<string>, values: Readonly<Record<string, string>>): void {
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
      const others = isSeq(present) ? (present.toJSON() as string[]) : typeof present === 'string' ? [present] : [];
      const file = secretsFileOf(name);
      if (!others.includes(file)) service.set('env_file', this.#document.createNode([...others, file]));
    }
    if (Object.keys(moved).length > 0) {
      const before = this.#document.get(secretsKey);
      const known = isMap(before) ? (before.toJSON() as typeof moved) : {};
      for (const [name, texts] of Object.entries(known)) if (this.#service(name)) moved[name] = { ...texts, ...moved[name] };
      this.#document.set(secretsKey, this.#document.createNode(moved));
      this.#changed = true;
      this.#dropFragments(holds);
    }
    const reader = new YamlDocument(this.#document.toString());
    for (const { path, text } of reader.scalars()) {
      if (path[0] !== 'services' || !holds(text)) continue;
      throw new Fault({
        code: 'refused.podmanCompose',
        message: `podman-compose would show a secret of ${String(path[1])} in its arguments: it stands in "${path.slice(2).join('.')}".`,
        remedy: 'Use docker compose with the Podman socket for this component, or take the secret from the environment.',
        where: { file: this.#file },
      });
    }
  }

  /** What anchors at the top of the file held has been written out, and podman-compose would ask there for the secrets that it is not given. */
  #dropFragments(holds: (text: string) => boolean): void {
    for (const { path, text } of [...new YamlDocument(this.#document.toString()).scalars()]) {
      const [top] = path;
      if (typeof top === 'string' && /^x-(?!quarterdeck-)/.test(top) && holds(text)) this.#document.delete(top);
    }
  }

  /**
   * What podman-compose 1.0 takes otherwise: it leaves `${NAME:-}` as it stands (without a default it becomes nothing, which is the same), reads the networks
   * of a service as a list of names, and knows no aliases. Podman finds containers by their own names too. From 1.1 on it puts each project into a pod, whose
   * members Podman lets into no network of a container outside.
   */
  spellForPodmanCompose(id: string): void {
    const joins = this.#services().some(([, service]) => String(service.get('network_mode') ?? '').startsWith('container:'));
    if (joins && this.#document.getIn(['x-podman', 'in_pod']) !== false) {
      this.#document.setIn(['x-podman', 'in_pod'], false);
      this.#changed = true;
    }
    for (const [, service] of this.#services()) {
      const networks = service.get('networks');
      if (!isMap(networks)) continue;
      const named = networks.toJSON() as Record<string, { aliases?: string[] } | null>;
      service.set('networks', this.#document.createNode(Object.keys(named)));
      // In networks of others a gateway has the names of those behind it: their own containers are called that.
      const own = Object.entries(named).filter(([name]) => !name.startsWith(networkOf('')) || name === networkOf(id));
      const alias = own.flatMap(([, network]) => network?.aliases ?? [])[0];
      if (alias !== undefined && !service.has('container_name')) service.set('container_name', alias);
      this.#changed = true;
    }
    for (const [, service] of this.#services()) {
      for (const entry of environmentOf(service)) {
        const spelled = entry.value.replaceAll(/\$\{([A-Za-z_]\w*):?-\}/g, '$${$1}');
        if (spelled === entry.value) continue;
        entry.write(spelled);
        this.#changed = true;
      }
    }
  }
}

/**
 * What belongs into the file of each service in `$QUARTERDECK_SECRETS` while podman-compose runs: by service and name of the environment variable a text in
 * which `${VARIABLE}` stands for a secret. Empty for a compose file that takes its secrets from the environment of compose.
 */
export function secretFilesOf(compose: string): Readonly<Record<string, Readonly<Record<string, string>>>> {
  if (!compose.includes(secretsKey)) return {};
  const value = (composeDocument(compose).value as Record<string, unknown> | null)?.[secretsKey];
  if (value === null || typeof value !== 'object') return {};
  return Object.fromEntries(
    Object.entries(value as Record<string, Record<string, string>>).map(([service, entries]) => [
      service,
      Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, String(text).replaceAll('$$', '$')])),
    ]),
  );
}

/** With the comments before it. */
function movePair(from: YAMLMap, to: YAMLMap, name: string): void {
  const pair = from.items.find(({ key }) => String(isScalar(key) ? key.value : key) === name);
  if (!pair) return;
  from.items = from.items.filter((one) => one !== pair);
  to.items.push(pair);
}

/** All texts of a node but its keys. */
function rewrite(node: YAMLMap, change: (text: string) => string): void {
  visit(node, {
    Scalar(at, scalar) {
      if (at !== 'key' && typeof scalar.value === 'string') scalar.value = change(scalar.value);
    },
  });
}

function templateOf(text: string, secrets: ReadonlySet<string>, values: Readonly<Record<string, string>>): string {
  return readInterpolation(text)
    .parts.map((part) => {
      if (typeof part === 'string') return part.replaceAll('$', '$$$$');
      if (secrets.has(part.name)) return `\${${part.name}}`;
      const written = `\${${part.name}${part.colon ? ':' : ''}${part.operator}${part.word}}`;
      return interpolate(written, values).replaceAll('$', '$$$$');
    })
    .join('');
}

/** Does this say no more than what is so without it? An alias in the project's own network does. */
function onlyDefault(networks: YAMLMap): boolean {
  const { default: own, ...others } = networks.toJSON() as Record<string, unknown>;
  return Object.keys(others).length === 0 && JSON.stringify(own ?? {}) === '{}';
}
