import { isLoopback } from '../text/loopback.ts';
import { type Draft, inComponent, inCompose, portAnnotation, portsOf, type RuleFinding, servicesOf } from './draft.ts';
import { neverWide } from './never-wide.ts';

export const portRules = { R6: loopbackByDefault, R7: widePorts, R8: alwaysLoopback, R9: loginsInTheClear, R16: hostNetwork };

function* loopbackByDefault(draft: Draft): Generator<RuleFinding> {
  for (const port of portsOf(draft)) {
    const annotation = portAnnotation(draft.component, port);
    if (annotation?.[1].exposure !== 'loopback' || isLoopback(port.address)) continue;
    const message = `The port "${annotation[0]}" has exposure: loopback, but is published on ${port.address === '' ? 'all addresses' : port.address}.`;
    yield inCompose(port.path, message, 'Put ${..._BIND:-127.0.0.1}: in front, or set exposure: all in component.yaml.');
  }
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each wide port owes a reason, an address and the leave of the specification
function* widePorts(draft: Draft): Generator<RuleFinding> {
  const { component, widePorts: allowed } = draft;
  for (const [name, annotation] of Object.entries(component.ports)) {
    if (annotation.exposure === 'loopback') continue;
    const path = ['ports', name];
    if (!Object.hasOwn(component.justifies, `ports.${name}`)) {
      const remedy = `Add the reason, justifies: {ports.${name}: ...}, or use exposure: loopback.`;
      yield inComponent([...path, 'exposure'], `The port "${name}" is open to the network, but no reason is stated.`, remedy);
    }
    const published = portsOf(draft).filter((port) => portAnnotation(component, port)?.[0] === name);
    for (const port of published) {
      if (annotation.exposure === 'all' && isLoopback(port.address)) {
        const remedy = 'Put ${..._BIND:-0.0.0.0}: in front, or use exposure: loopback in component.yaml.';
        yield inCompose(port.path, `The port "${name}" has exposure: all, but is published only on loopback.`, remedy);
      }
    }
    const numbers =
      published.length > 0
        ? published.map(({ host, container, protocol }) => `${host ?? container}/${protocol}`)
        : [`${annotation.number ?? ''}/${annotation.protocol ?? 'tcp'}`];
    for (const number of allowed ? numbers : []) {
      if (!allowed?.has(`${component.id} ${number}`)) {
        const message = `Port ${number} of this component may be published only on loopback.`;
        yield inComponent([...path, 'exposure'], message, 'Use exposure: loopback.');
      }
    }
  }
}

function* alwaysLoopback(draft: Draft): Generator<RuleFinding> {
  const guarded = neverWide[draft.component.id];
  for (const port of portsOf(draft)) {
    if (guarded !== undefined && port.host === guarded && !isLoopback(port.address))
      yield inCompose(port.path, `Port ${guarded} of this component may be published only on loopback.`, 'Publish it on 127.0.0.1.');
  }
}

function* hostNetwork(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  const onHost = servicesOf(draft).filter(({ networkMode }) => networkMode === 'host');
  for (const service of onHost) {
    if (service.ports.length > 0) {
      const message = `The service "${service.name}" uses the host network, so it cannot publish ports.`;
      yield inCompose(['services', service.name, 'ports'], message, 'Remove ports, and set the port numbers in component.yaml.', 'key');
    }
  }
  for (const [name, annotation] of Object.entries(component.ports)) {
    if (annotation.exposure === 'host-network' && onHost.length === 0 && component.deploy === 'compose') {
      const message = `The port "${name}" has exposure: host-network, but no service uses the host network.`;
      yield inComponent(['ports', name, 'exposure'], message, 'Add network_mode: host to the service, or use another exposure.');
    }
    const published = portsOf(draft).some((port) => portAnnotation(component, port)?.[0] === name);
    if (annotation.number !== undefined && !published && onHost.length === 0 && component.deploy === 'compose') {
      const message = `Only a service on the host network can have a port that compose.yaml does not publish.`;
      yield inComponent(['ports', name, 'number'], message, 'Publish the port in compose.yaml.');
    }
    if (annotation.number === undefined && annotation.exposure === 'host-network')
      yield inComponent(['ports', name], `The port "${name}" has no number.`, 'Set number to the port that the service listens on.', 'key');
  }
}

/** `none unless it is switched on` counts as a login. */
const withoutLogin = /^(?:none(?:$|;)|no built-in authentication\b)/i;

/** Which built-in entries are `sensitive` is one rule for the whole catalog. A custom entry declares it itself. */
function* loginsInTheClear({ component, own }: Draft): Generator<RuleFinding> {
  const { auth, deploy, group, justifies, ports, sensitive } = component;
  if (own || deploy !== 'compose' || group === 'security') return;
  const hasLogin = !withoutLogin.test(auth);
  const isPlain = Object.values(ports).some(({ web, tls }) => web && !tls);
  if (sensitive === undefined && hasLogin && isPlain) {
    const message = 'The component has a login page without TLS, but does not require HTTPS.';
    yield inComponent(['auth'], message, 'Add sensitive: true.');
  }
  if (sensitive !== undefined && sensitive !== hasLogin && !Object.hasOwn(justifies, 'sensitive')) {
    const message = sensitive
      ? 'The component requires HTTPS, but has no login.'
      : 'The component has a login, but does not require HTTPS.';
    yield inComponent(['sensitive'], message, 'Add the reason: justifies: {sensitive: ...}.');
  }
}
